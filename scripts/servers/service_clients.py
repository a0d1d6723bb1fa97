#!/usr/bin/env python3
"""Sends unchanged clients of OpenAI and Anthropic through the service to a real llama.cpp server.

    python3.11 scripts/servers/service_clients.py [--binaries target/debug] [--node FOLDER] [--aider PROGRAM] [--opencode PROGRAM]

Makes `.venv-clients` with the packages of `requirements-clients.txt` if it is missing, and needs `.venv-llama` (README.md). Each client
asks for a document, for a stream, and calls a tool and sends its result. Aider (PyPI `aider-chat`) and OpenCode (npm
`opencode-linux-x64`) work in a folder over a scripted vendor that calls OpenCode's own tool. With --node, `openai` and `@anthropic-ai/sdk` are installed in
FOLDER with npm. What is missing is named as skipped. Exits with 1 if a client fails.
"""
import argparse, http.server, json, os, pathlib, shutil, socket, subprocess, sys, tempfile, threading, time

TOP = pathlib.Path(__file__).resolve().parents[2]
CALL = '<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>'
ANSWER = "It is a cat."

OPENAI = """
import os, json
from openai import OpenAI, NotFoundError, AuthenticationError
client = OpenAI()
ask = lambda **more: client.chat.completions.create(model="llamacpp", messages=[{"role": "user", "content": "what is it?"}], **more)
assert "llamacpp" in [model.id for model in client.models.list()]
whole = client.chat.completions.with_raw_response.create(model="llamacpp", messages=[{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}])
assert whole.parse().choices[0].message.content.strip() == ANSWER, whole.text
assert whole.headers["x-agentos-provider"] == "llamacpp" and whole.headers["x-agentos-cost-usd"] == "0"
history = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]
pieces = list(client.chat.completions.create(model="llamacpp", messages=history, stream=True, stream_options={"include_usage": True}))
assert "".join(p.choices[0].delta.content or "" for p in pieces if p.choices).strip() == ANSWER
assert pieces[-1].usage.completion_tokens > 0
tools = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}}}]
for stream in (False, True):
    messages = [{"role": "user", "content": "what is it?"}]
    if stream:
        with client.chat.completions.stream(model="llamacpp", messages=messages, tools=tools) as events:
            for _ in events: pass
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model="llamacpp", messages=messages, tools=tools).choices[0].message
    call = message.tool_calls[0]
    assert call.function.name == "look" and json.loads(call.function.arguments) == {"at": 1}, message
    messages += [{"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {"name": "look", "arguments": call.function.arguments}}]}, {"role": "tool", "tool_call_id": call.id, "content": "a cat"}]
    assert client.chat.completions.create(model="llamacpp", messages=messages, tools=tools).choices[0].message.content.strip() == ANSWER
try: client.chat.completions.create(model="nobody", messages=messages); raise SystemExit("no 404")
except NotFoundError: pass
try: OpenAI(api_key="wrong").models.list(); raise SystemExit("no 401")
except AuthenticationError: pass
"""
ANTHROPIC = """
from anthropic import Anthropic, NotFoundError, AuthenticationError
client = Anthropic()
history = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]
whole = client.messages.create(model="llamacpp", max_tokens=100, system="Be short.", messages=history)
assert whole.content[0].text.strip() == ANSWER and whole.stop_reason == "end_turn" and whole.usage.output_tokens > 0, whole
with client.messages.stream(model="llamacpp", max_tokens=100, messages=history) as stream:
    assert "".join(stream.text_stream).strip() == ANSWER
    assert stream.get_final_message().usage.output_tokens > 0
tools = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {"at": {"type": "integer"}}}}]
for streamed in (False, True):
    messages = [{"role": "user", "content": "what is it?"}]
    if streamed:
        with client.messages.stream(model="llamacpp", max_tokens=100, messages=messages, tools=tools) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(model="llamacpp", max_tokens=100, messages=messages, tools=tools)
    call = next(block for block in message.content if block.type == "tool_use")
    assert call.name == "look" and call.input == {"at": 1} and message.stop_reason == "tool_use", message
    messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "a cat"}]}]
    assert client.messages.create(model="llamacpp", max_tokens=100, messages=messages, tools=tools).content[0].text.strip() == ANSWER
assert "llamacpp" in [model.id for model in client.models.list()]
try: client.messages.create(model="nobody", max_tokens=1, messages=history); raise SystemExit("no 404")
except NotFoundError: pass
try: Anthropic(api_key="wrong").messages.create(model="llamacpp", max_tokens=1, messages=history); raise SystemExit("no 401")
except AuthenticationError: pass
"""
NODE_OPENAI = """
import OpenAI from 'openai';
const client = new OpenAI(), history = [{role: 'user', content: 'x'}, {role: 'assistant', content: 'y'}, {role: 'user', content: 'z'}];
const check = (is, what) => { if (!is) throw new Error(JSON.stringify(what)); };
const whole = await client.chat.completions.create({model: 'llamacpp', messages: history});
check(whole.choices[0].message.content.trim() === ANSWER, whole);
let text = '';
for await (const piece of await client.chat.completions.create({model: 'llamacpp', messages: history, stream: true})) text += piece.choices[0]?.delta?.content ?? '';
check(text.trim() === ANSWER, text);
const tools = [{type: 'function', function: {name: 'look', parameters: {type: 'object', properties: {at: {type: 'integer'}}}}}];
const called = await client.chat.completions.stream({model: 'llamacpp', messages: [{role: 'user', content: 'what is it?'}], tools}).finalChatCompletion();
const call = called.choices[0].message.tool_calls[0];
check(call.function.name === 'look' && JSON.parse(call.function.arguments).at === 1, called);
const end = await client.chat.completions.create({model: 'llamacpp', tools, messages: [{role: 'user', content: 'what is it?'}, called.choices[0].message, {role: 'tool', tool_call_id: call.id, content: 'a cat'}]});
check(end.choices[0].message.content.trim() === ANSWER, end);
"""
NODE_ANTHROPIC = """
import Anthropic from '@anthropic-ai/sdk';
const client = new Anthropic(), history = [{role: 'user', content: 'x'}, {role: 'assistant', content: 'y'}, {role: 'user', content: 'z'}];
const check = (is, what) => { if (!is) throw new Error(JSON.stringify(what)); };
const whole = await client.messages.create({model: 'llamacpp', max_tokens: 100, messages: history});
check(whole.content[0].text.trim() === ANSWER, whole);
const tools = [{name: 'look', input_schema: {type: 'object', properties: {at: {type: 'integer'}}}}];
const called = await client.messages.stream({model: 'llamacpp', max_tokens: 100, tools, messages: [{role: 'user', content: 'what is it?'}]}).finalMessage();
const call = called.content.find(block => block.type === 'tool_use');
check(call.name === 'look' && call.input.at === 1, called);
const end = await client.messages.create({model: 'llamacpp', max_tokens: 100, tools, messages: [{role: 'user', content: 'what is it?'}, {role: 'assistant', content: called.content}, {role: 'user', content: [{type: 'tool_result', tool_use_id: call.id, content: 'a cat'}]}]});
check(end.content[0].text.trim() === ANSWER, end);
"""


class Vendor(http.server.BaseHTTPRequestHandler):
    """A vendor for coding agents: it reads a file with the first tool that is offered for that, and then answers."""

    protocol_version = "HTTP/1.1"
    tool_results = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply("application/json", json.dumps({"object": "list", "data": [{"id": "coder", "object": "model"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        names = {tool["function"]["name"] for tool in body.get("tools", [])}
        has_result = any(message["role"] == "tool" for message in body["messages"])
        type(self).tool_results += has_result
        if "read" in names and not has_result:
            call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": json.dumps({"filePath": str(self.file)})}}
            deltas, finish = [{"role": "assistant", "tool_calls": [call]}], "tool_calls"
        else:
            deltas, finish = [{"role": "assistant", "content": ""}] + [{"content": piece} for piece in ("It is ", "a cat.")], "stop"
        events = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}]
        lines = [json.dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "coder"} | event) for event in events] + ["[DONE]"]
        self.reply("text/event-stream", "".join(f"data: {line}\n\n" for line in lines).encode())

    def reply(self, kind, data):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_port(port, process):
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise SystemExit("a server does not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", type=pathlib.Path, default=TOP / "target/debug")
    parser.add_argument("--node", type=pathlib.Path)
    parser.add_argument("--aider")
    parser.add_argument("--opencode")
    args = parser.parse_args()
    clients, llama = TOP / ".venv-clients/bin", TOP / ".venv-llama/bin/python"
    if not (clients / "llm").exists():
        subprocess.run([sys.executable, "-m", "venv", TOP / ".venv-clients"], check=True)
        subprocess.run([clients / "python", "-m", "pip", "install", "-q", "-r", TOP / "scripts/servers/requirements-clients.txt"], check=True)
    folder = pathlib.Path(tempfile.mkdtemp())
    started = []
    try:
        (folder / "script.json").write_text(json.dumps([CALL, ANSWER]))
        subprocess.run([llama, TOP / "scripts/servers/make_tiny_gguf.py", folder / "tiny.gguf", "--script", folder / "script.json"], check=True, stdout=subprocess.DEVNULL)
        port, home = free_port(), folder / "home"
        started.append(subprocess.Popen([llama, TOP / "scripts/servers/llama_server.py", "--model", folder / "tiny.gguf", "--alias", "tiny", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        await_port(port, started[-1])
        (home / ".config/agentos/profiles").mkdir(parents=True)
        (home / ".config/agentos/profiles/llamacpp.json").write_text(json.dumps({"provider": "llamacpp", "name": "llamacpp", "base_url": f"http://127.0.0.1:{port}"}))
        repository = folder / "repository"
        repository.mkdir()
        git = lambda *words: subprocess.run(["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, stdout=subprocess.DEVNULL)
        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "begin")
        service = free_port()
        started.append(subprocess.Popen([args.binaries / "agentos-server", "--repo", repository, "--listen", f"127.0.0.1:{service}"], env={"PATH": os.environ["PATH"], "HOME": str(home)}, stdout=subprocess.DEVNULL))
        await_port(service, started[-1])
        make = [args.binaries / "agentos", "serve", "token", "add", "clients"]
        token = subprocess.run(make, env={"PATH": os.environ["PATH"], "HOME": str(home)}, check=True, capture_output=True, text=True).stdout.strip()
        base = f"http://127.0.0.1:{service}"
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": token, "ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": token}
        failed = 0

        def run(name, command, holds=None, cwd=None, more=None):
            nonlocal failed
            done = subprocess.run(command, env=env | (more or {}), cwd=cwd, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
            well = done.returncode == 0 and (holds is None or holds in done.stdout)
            failed += not well
            print(f"{'ok' if well else 'FAILED':8} {name}" + ("" if well else "\n" + (done.stdout + done.stderr)[-1500:]), flush=True)

        python = clients / "python"
        run("openai (Python): document, stream, tools, errors", [python, "-c", f"ANSWER = {ANSWER!r}\n{OPENAI}"])
        run("anthropic (Python): document, stream, tools, errors", [python, "-c", f"ANSWER = {ANSWER!r}\n{ANTHROPIC}"])
        (folder / "llm").mkdir()
        (folder / "llm/extra-openai-models.yaml").write_text(f"- model_id: agentos\n  model_name: llamacpp\n  api_base: {base}/v1\n  api_key_name: agentos\n")
        (folder / "llm/keys.json").write_text(json.dumps({"agentos": token}))
        for streamed in ([], ["--no-stream"]):
            # llm keeps no conversation here, so the scripted model answers with its first answer, the call.
            run(f"llm {' '.join(streamed) or '(stream)'}", [clients / "llm", "-m", "agentos", *streamed, "hi"], more={"LLM_USER_PATH": str(folder / "llm")})
        if args.node and shutil.which("npm"):
            args.node.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--prefix", str(args.node), "openai", "@anthropic-ai/sdk"], check=True, stdout=subprocess.DEVNULL)
            for name, text in (("openai", NODE_OPENAI), ("anthropic", NODE_ANTHROPIC)):
                file = args.node / f"{name}.mjs"
                file.write_text(f"const ANSWER = {json.dumps(ANSWER)};\n{text}")
                run(f"{name} (Node): document, stream, tools", ["node", str(file)])
        else:
            print("skipped  the clients for Node: no --node, or no npm")
        (folder / "animal.txt").write_text("a cat\n")
        vendor = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Vendor,), {"file": folder / "animal.txt"}))
        threading.Thread(target=vendor.serve_forever, daemon=True).start()
        coder = {"provider": "coder", "name": "coder", "adapter": "openai", "base_url": f"http://127.0.0.1:{vendor.server_port}/v1", "model": "coder"}
        (home / ".config/agentos/profiles/coder.json").write_text(json.dumps(coder))
        if args.aider:
            for streamed in ("--stream", "--no-stream"):
                run(f"aider {streamed} --message", [args.aider, "--model", "openai/coder", streamed, "--message", "what is it?", "--yes-always", "--no-git", "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-show-release-notes", "--map-tokens", "0", "--no-pretty"],
                    holds=ANSWER, cwd=folder, more={"OPENAI_API_BASE": f"{base}/v1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"})
        else:
            print("skipped  aider: no --aider")
        if args.opencode:
            provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{base}/v1", "apiKey": token}, "models": {"coder": {"tool_call": True}}}
            settings = {"model": "agentos/coder", "small_model": "agentos/coder", "provider": {"agentos": provider}}
            (folder / ".config/opencode").mkdir(parents=True)
            (folder / ".config/opencode/opencode.json").write_text(json.dumps(settings))
            more = {name: "1" for name in ("OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_AUTOUPDATE")}
            run("opencode run: stream, a tool and its result", [args.opencode, "run", "--model", "agentos/coder", "what is it?"], holds=ANSWER, cwd=folder, more=more)
            if not vendor.RequestHandlerClass.tool_results:
                failed += 1
                print("FAILED   OpenCode sent no result of its tool")
        else:
            print("skipped  OpenCode: no --opencode")
        sys.exit(1 if failed else 0)
    finally:
        for process in started:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


main()
