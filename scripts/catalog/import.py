#!/usr/bin/env python3
"""Make `crates/decide/agentos-catalog/data/catalog.json` from three public tables of models and prices, all MIT.

    scripts/catalog/import.py --models-dev DIR --genai-prices DIR --litellm WHEEL --litellm-date 2026-11-23

- DIR: a git clone of https://github.com/anomalyco/models.dev and of https://github.com/pydantic/genai-prices (bare or not).
- WHEEL: the wheel of https://pypi.org/project/litellm/, which contains `model_prices_and_context_window_backup.json`. Its date
  is the day on which it was taken.

Each model has one row for each table that has it, in that table's own words: nothing is merged here. A price is a decimal string
in US dollars per million tokens. By the SHA-256 of a row anyone can find out whether a table still says the same. For models.dev
it is that of the bytes of the model's file, after those of the file that it is based on; for the others that of the row as JSON
with sorted keys, without blanks, and with every fraction as a string.

Only models that answer in text are taken: no embeddings, speech, images or moderation, and no fine-tuned or batch names.
"""

import argparse
import decimal
import hashlib
import json
import os
import re
import subprocess
import tomllib
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "crates/decide/agentos-catalog/data/catalog.json")
# Our provider: its name in models.dev, in genai-prices and in LiteLLM, and the prefix of LiteLLM's keys.
PROVIDERS = {
    "anthropic": ("anthropic", "anthropic", "anthropic", ""),
    "deepseek": ("deepseek", "deepseek", "deepseek", "deepseek/"),
    "gemini": ("google", "google", "gemini", "gemini/"),
    "mistral": ("mistral", "mistral", "mistral", "mistral/"),
    "openai": ("openai", "openai", "openai", ""),
    "xai": ("xai", "x-ai", "xai", "xai/"),
    "zai": ("zai", "zhipuai", "zai", "zai/"),
}
NO_TEXT = re.compile(
    r"embed|moderation|tts|transcri|whisper|realtime|audio|image|dall-e|imagen|veo|lyria|live|robotics|computer-use|ocr|search-api"
    r"|^ft:|voxtral|nano-banana|sora|container|/"
)


def decimal_text(value, scale=1):
    """Return a price as the shortest decimal string; `None` if there is none."""
    if value is None:
        return None
    exact = decimal.Decimal(str(value)) * scale
    text = format(exact.normalize(), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def row_hash(row):
    """Return the SHA-256 of a row as canonical JSON."""
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def without_none(row):
    """Return the row without the values that its table does not state."""
    return {key: value for key, value in row.items() if value is not None and value != []}


class Git:
    """A clone whose newest commit is read."""

    def __init__(self, folder):
        self.folder = folder
        self.revision, self.date = self.call("log", "-1", "--format=%H %cs").split()

    def call(self, *arguments):
        return subprocess.run(["git", "-C", self.folder, *arguments], check=True, capture_output=True, text=True).stdout

    def names(self, below):
        return self.call("ls-tree", "--name-only", "HEAD", below).split()

    def read(self, path):
        return self.call("show", f"HEAD:{path}")


def merge_base(base, own):
    """Return a model's values on top of those of the model that it is based on."""
    merged = dict(base)
    for key, value in own.items():
        merged[key] = merge_base(merged.get(key, {}), value) if isinstance(value, dict) else value
    return merged


def models_dev_rows(git, ours, theirs):
    """Yield name and row of every model of a provider in models.dev."""
    for path in git.names(f"providers/{theirs}/models/"):
        name = os.path.basename(path).removesuffix(".toml")
        text = git.read(path)
        model = tomllib.loads(text, parse_float=str)
        if "base_model" in model:
            base = git.read(f"models/{model['base_model']}.toml")
            model, text = merge_base(tomllib.loads(base, parse_float=str), model), base + text
        kinds = model.get("modalities", {})
        if NO_TEXT.search(name) or "text" not in kinds.get("output", []):
            continue
        cost = model.get("cost", {})
        tiers = [(tier["tier"]["size"], tier) for tier in cost.get("tiers", [])]
        yield name, without_none({
            "source": "models.dev",
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "window": model.get("limit", {}).get("context"),
            "max_output": model.get("limit", {}).get("output"),
            "tools": model.get("tool_call"),
            "vision": "image" in kinds.get("input", []),
            "json": model.get("structured_output"),
            "reasoning": model.get("reasoning"),
            **prices(cost, ("input", "cache_read", "cache_write", "output"), 1),
            "above": [
                long_prices(size, prices(tier, ("input", "cache_read", "cache_write", "output"), 1))
                for size, tier in tiers
            ],
        })


def prices(values, names, scale):
    """Return the four prices under our names."""
    ours = ("input", "cached", "cache_write", "output")
    return {our: decimal_text(values.get(name), scale) for our, name in zip(ours, names)}


def long_prices(tokens, values):
    """Return the prices of which the cost of a call with a longer prompt consists."""
    return without_none({"tokens": tokens, **values})


def litellm_rows(table, ours, theirs, prefix):
    """Yield name and row of every model of a provider in LiteLLM's table."""
    names = ("input_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost", "output_cost_per_token")
    for key, model in table.items():
        if model.get("litellm_provider") != theirs or model.get("mode") not in ("chat", "responses"):
            continue
        name = key.removeprefix(prefix)
        if not key.startswith(prefix) or NO_TEXT.search(name):
            continue
        above = sorted({int(found[1]) * 1000 for word in model if (found := re.fullmatch(r".*_above_(\d+)k_tokens", word))})
        yield name, without_none({
            "source": "litellm",
            "sha256": row_hash(model),
            "window": model.get("max_input_tokens"),
            "max_output": model.get("max_output_tokens"),
            "tools": model.get("supports_function_calling"),
            "vision": model.get("supports_vision"),
            "json": model.get("supports_response_schema"),
            "reasoning": model.get("supports_reasoning"),
            **prices(model, names, 1_000_000),
            "above": [
                long_prices(tokens, prices(model, [f"{word}_above_{tokens // 1000}k_tokens" for word in names], 1_000_000))
                for tokens in above
            ],
        })


def matches(rule, name):
    """Return whether a rule of genai-prices fits a name."""
    ((kind, value),) = rule.items()
    checks = {
        "equals": lambda: name == value,
        "starts_with": lambda: name.startswith(value),
        "ends_with": lambda: name.endswith(value),
        "contains": lambda: value in name,
        "regex": lambda: re.search(value, name) is not None,
        "or": lambda: any(matches(one, name) for one in value),
        "and": lambda: all(matches(one, name) for one in value),
    }
    return checks[kind]()


def genai_row(provider, name):
    """Return the row of a model in genai-prices; `None` if it has none or its price depends on the time of day."""
    model = next((model for model in provider["models"] if matches(model["match"], name)), None)
    if model is None:
        return None
    cost = model["prices"]
    if isinstance(cost, list):
        # Prices that began on a day: the newest counts. A price by the time of day is no one price.
        if any("start_date" not in one.get("constraint", {"start_date": ""}) for one in cost):
            return None
        cost = max(cost, key=lambda one: one.get("constraint", {}).get("start_date", ""))["prices"]
    names = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok")
    base = {key: value["base"] if isinstance(value, dict) else value for key, value in cost.items()}
    tiers = {}
    for key, value in cost.items():
        for tier in value["tiers"] if isinstance(value, dict) else []:
            tiers.setdefault(tier["start"], {})[key] = tier["price"]
    return without_none({
        "source": "genai-prices",
        "sha256": row_hash(model),
        "window": model.get("context_window"),
        **prices(base, names, 1),
        "above": [long_prices(size, prices(tier, names, 1)) for size, tier in sorted(tiers.items())],
    })


def collect_models(models_dev, genai, litellm):
    """Return every model with its rows, sorted by id."""
    models = {}
    for ours, (dev, gen, lite, prefix) in PROVIDERS.items():
        for name, row in models_dev_rows(models_dev, ours, dev):
            models.setdefault(f"{ours}/{name}", []).append(row)
        for name, row in litellm_rows(litellm, ours, lite, prefix):
            models.setdefault(f"{ours}/{name}", []).append(row)
        provider = next(one for one in genai if one["id"] == gen)
        for identity, rows in models.items():
            if identity.startswith(ours + "/") and (row := genai_row(provider, identity.removeprefix(ours + "/"))):
                rows.append(row)
    priced = {key: rows for key, rows in models.items() if any("input" in row for row in rows)}
    return [{"id": key, "rows": rows} for key, rows in sorted(priced.items())]


def main():
    """Read the three tables and write the catalogue, one line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("models-dev", "genai-prices", "litellm", "litellm-date"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    models_dev, genai = Git(options.models_dev), Git(options.genai_prices)
    with zipfile.ZipFile(options.litellm) as wheel:
        text = wheel.read("litellm/model_prices_and_context_window_backup.json")
    version = re.search(r"litellm-([0-9.]+)-", os.path.basename(options.litellm))[1]
    sources = [
        {"name": "genai-prices", "url": "https://github.com/pydantic/genai-prices", "revision": genai.revision, "date": genai.date},
        {"name": "litellm", "url": "https://github.com/BerriAI/litellm", "revision": version, "date": options.litellm_date},
        {"name": "models.dev", "url": "https://github.com/anomalyco/models.dev", "revision": models_dev.revision, "date": models_dev.date},
    ]
    rows = collect_models(
        models_dev,
        json.loads(genai.read("prices/data.json"), parse_float=str),
        json.loads(text, parse_float=str),
    )
    with open(OUT, "w") as out:
        head = ",\n".join("    " + json.dumps(source) for source in sources)
        body = ",\n".join("    " + json.dumps(model, separators=(",", ":")) for model in rows)
        out.write(f'{{\n  "sources": [\n{head}\n  ],\n  "models": [\n{body}\n  ]\n}}\n')
    print(f"{len(rows)} models, {sum(len(model['rows']) for model in rows)} rows, {os.path.getsize(OUT)} bytes")


if __name__ == "__main__":
    main()
