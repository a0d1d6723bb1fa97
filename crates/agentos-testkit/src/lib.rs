//! Test support: temporary repositories, fake servers, recorded fixtures, a redactor; never in a product
