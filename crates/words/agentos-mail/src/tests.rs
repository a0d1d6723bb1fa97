//! Tests of reading mails: cases with what each gives, transfer encodings, and any bytes.

use proptest::prelude::*;

use super::*;

const DIFF: &str = "---\n f | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\ndiff --git a/f b/f\nindex 5626abf..f719efd 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n-- \n2.47.3\n\n";

/// Writes what a mail gives, without the diff.
fn describe(bytes: &[u8]) -> String {
    let mails = match read_mails(bytes) {
        Ok(None) => return "not a mail".to_owned(),
        Err(error) => return format!("error: {error}"),
        Ok(Some(mails)) => mails,
    };
    let lines = mails.iter().map(|mail| {
        let date = mail
            .date
            .map(|date| format!("{} {:+}", date.unix_seconds, date.utc_offset_minutes));
        format!(
            "{} <{}> | {} | {:?} | {:?}",
            mail.author_name,
            mail.author_email,
            date.unwrap_or_else(|| "no date".to_owned()),
            mail.message(),
            mail.trailers,
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn mail(headers: &str, body: &str) -> String {
    format!("{headers}\n{body}{DIFF}")
}

#[test]
fn a_mail_gives_author_date_message_and_trailers() {
    let cases = [
        (
            "as format-patch writes it",
            mail(
                "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: Anna Berg <anna@example.com>\nDate: Fri, 20 Nov 2026 10:11:12 +0100\nSubject: [PATCH 1/2] parser: read\n an empty line\n",
                "It failed before.\n\nSigned-off-by: Anna Berg <anna@example.com>\n",
            ),
        ),
        (
            "encoded name and subject",
            mail(
                "From: =?UTF-8?q?J=C3=BCrgen=20Gro=C3=9F?= <j@example.com>\nDate: Fri, 20 Nov 2026 10:11:12 -0330\nSubject: Re: [PATCH] =?UTF-8?q?=C3=A4ndern?=\n",
                "",
            ),
        ),
        (
            "forwarded by somebody else",
            mail(
                "From: List <list@example.com>\nSubject: [PATCH] outer\nDate: Fri, 20 Nov 2026 10:11:12 +0000\n",
                "From: Anna <anna@example.com>\nDate: Thu, 19 Nov 2026 10:11:12 +0000\nSubject: inner\n\ntext\n",
            ),
        ),
        (
            "no date, no name",
            mail(
                "From: anna@example.com\nSubject: fix\n",
                "Note: this stays text.\n",
            ),
        ),
        ("no author", mail("From: \nSubject: fix\n", "")),
        (
            "an escape sequence as a name",
            mail("From: A\u{1b}[31m <a@example.com>\nSubject: fix\n", ""),
        ),
        (
            "no subject",
            mail("From: anna@example.com\nSubject: [PATCH]\n", ""),
        ),
        (
            "a cover letter alone",
            "From x Mon Sep 17 00:00:00 2001\nFrom: a@example.com\nSubject: [PATCH 0/2] all\n\nwords\n"
                .to_owned(),
        ),
    ];
    let shown: Vec<String> = cases
        .iter()
        .map(|(name, text)| format!("{name}\n  {}", describe(text.as_bytes())))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    as format-patch writes it
      Anna Berg <anna@example.com> | 1795165872 +60 | "parser: read an empty line\n\nIt failed before." | [("Signed-off-by", "Anna Berg <anna@example.com>")]
    encoded name and subject
      Jürgen Groß <j@example.com> | 1795182072 -210 | "ändern" | []
    forwarded by somebody else
      Anna <anna@example.com> | 1795083072 +0 | "inner\n\ntext" | []
    no date, no name
      anna@example.com <anna@example.com> | no date | "fix\n\nNote: this stays text." | []
    no author
      error: mail 1 does not say who wrote it: its `From:` has no name and address
    an escape sequence as a name
      error: mail 1 does not say who wrote it: its `From:` has no name and address
    no subject
      error: mail 1 has no subject, which would be the first line of its commit message
    a cover letter alone
      not a mail
    "#);
}

#[test]
fn other_texts_are_not_mails() {
    let cases = [
        DIFF.to_owned(),
        String::new(),
        format!("From: the model\n\nHere it is:\n\n{DIFF}"),
        format!("Subject: a fix\nThis changes f.\n\n{DIFF}"),
        "From: a@example.com\nSubject: words only\n\nno change here\n".to_owned(),
        format!("From here on Mon it works\n{DIFF}"),
    ];
    for text in cases {
        assert_eq!(describe(text.as_bytes()), "not a mail", "{text}");
    }
}

#[test]
fn a_mailbox_gives_its_patches_in_order_and_leaves_out_the_cover_letter() {
    let headers = |number: usize| {
        format!(
            "From {number:040} Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\nSubject: [PATCH {number}/2] part {number}\n\n"
        )
    };
    let mailbox = format!(
        "{}cover\n\n{}{DIFF}{}From 9:00 on it works.\n{DIFF}",
        headers(0),
        headers(1),
        headers(2)
    );
    let mails = read_mails(mailbox.as_bytes()).unwrap().unwrap();
    let messages: Vec<String> = mails.iter().map(PatchMail::message).collect();
    assert_eq!(messages, ["part 1", "part 2\n\nFrom 9:00 on it works."]);
    assert_eq!(
        String::from_utf8_lossy(&mails[0].diff).trim_end(),
        DIFF.trim_end()
    );
}

#[test]
fn the_diff_keeps_its_bytes_in_every_transfer_encoding() {
    let latin = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-caf\xe9\n+th\xe9=1\n".to_vec();
    let headers = "From: A <a@example.com>\nSubject: s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=iso-8859-1\n";
    let plain = [headers.as_bytes(), b"Content-Transfer-Encoding: 8bit\n\n", &latin].concat();
    let quoted = [
        headers.as_bytes(),
        b"Content-Transfer-Encoding: quoted-printable\n\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-caf=E9\n+th=E9=\n=3D1\n",
    ]
    .concat();
    let encoded = [
        headers.as_bytes(),
        b"Content-Transfer-Encoding: base64\n\nLS0tIGEvZgorKysgYi9mCkBAIC0xICsxIEBACi1jYWbpCit0aOk9MQo=\n",
    ]
    .concat();
    for raw in [plain, quoted, encoded] {
        let mails = read_mails(&raw).unwrap().unwrap();
        assert_eq!(mails[0].diff, latin, "{}", String::from_utf8_lossy(&raw));
    }
}

#[test]
fn an_attached_patch_is_read_with_the_message_of_the_first_part() {
    let raw = format!(
        "From: A <a@example.com>\nSubject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n--x\nContent-Type: text/plain\n\nwhy\n\n--x\nContent-Type: text/x-patch; name=\"f.patch\"\nContent-Disposition: attachment\n\n{DIFF}\n--x--\n"
    );
    let mails = read_mails(raw.as_bytes()).unwrap().unwrap();
    assert_eq!(mails[0].message(), "s\n\nwhy");
    assert!(String::from_utf8_lossy(&mails[0].diff).contains("\n+two\n"));
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..400), with_headers in any::<bool>()) {
        let headers: &[u8] = if with_headers { b"From: a@example.com\nSubject: s\n" } else { b"" };
        // Nothing to compare with: the claim is that no input panics.
        let _ = read_mails(&[headers, &bytes].concat());
    }
}
