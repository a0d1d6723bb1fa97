#!/usr/bin/env python3
"""Sends unchanged clients of OpenAI and Anthropic through the service to a real llama.cpp server and to a scripted vendor.

    python3.11 scripts/servers/service_clients.py [--binaries target/debug] [--node FOLDER] [--aider PROGRAM] [--opencode PROGRAM]
                                                  [--codex PROGRAM] [--claude PROGRAM]

Makes `.venv-clients` with the packages of `requirements-clients.txt` if it is missing. The clients of the chat wires ask the llama.cpp
server of `.venv-llama` (README.md): each asks for a document, for a stream, and calls a tool and sends its result. The clients of
`/v1/responses`, `/v1/embeddings`, `/v1/completions` and `/v1/messages/count_tokens`, and the coding agents, ask a scripted vendor:
Aider (PyPI `aider-chat`), OpenCode (npm `opencode-linux-x64`), Codex (npm `@openai/codex`) and Claude Code (npm
`@anthropic-ai/claude-code`) work in a folder, and the vendor calls the agent's own tool, whose result it must receive. With --node,
`openai` and `@anthropic-ai/sdk` are installed in FOLDER with npm. What is missing is named as skipped. Exits with 1 if a client fails.
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
RESPONSES = """
import json, openai
from openai import OpenAI, BadRequestError, NotFoundError
client = OpenAI()
whole = client.responses.create(model="coder", input="what is it?", instructions="Be short.")
assert whole.output_text == ANSWER and whole.status == "completed" and whole.usage.total_tokens == 13 and whole.store is False, whole
events = list(client.responses.create(model="coder", input="what is it?", stream=True))
assert [event.sequence_number for event in events] == list(range(len(events)))
assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == ANSWER
tools = [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}, "strict": False}]
for streamed in (False, True):
    items = [{"role": "user", "content": "what is it?"}]
    if streamed:
        with client.responses.stream(model="coder", input=items, tools=tools) as stream:
            for _ in stream: pass
            response = stream.get_final_response()
    else:
        response = client.responses.create(model="coder", input=items, tools=tools)
    call = next(item for item in response.output if item.type == "function_call")
    assert call.name == "look" and json.loads(call.arguments) == {"at": 1}, response
    items += [*response.output, {"type": "function_call_output", "call_id": call.call_id, "output": "a cat"}]
    assert client.responses.create(model="coder", input=items, tools=tools).output_text == ANSWER
free = [{"type": "custom", "name": "note", "description": "Notes."}]
with client.responses.stream(model="coder", input="what is it?", tools=free) as stream:
    for _ in stream: pass
    call = stream.get_final_response().output[0]
assert (call.type, call.name, call.input) == ("custom_tool_call", "note", "a cat"), call
try: client.responses.create(model="coder", input="x", previous_response_id="resp_1"); raise SystemExit("no 400")
except BadRequestError as error: assert error.param == "previous_response_id", error
try: client.responses.retrieve("resp_1"); raise SystemExit("no 404")
except NotFoundError as error: assert error.request_id.startswith("req_"), error.request_id
vectors = client.embeddings.create(model="coder", input=["a", "b"])
assert len(vectors.data) == 2 and len(vectors.data[0].embedding) == 2 and vectors.model == "coder", vectors
assert client.completions.create(model="coder", prompt="it is").choices[0].text == ANSWER
assert "".join(piece.choices[0].text for piece in client.completions.create(model="coder", prompt="it is", stream=True)) == ANSWER
"""
COUNT = """
from anthropic import Anthropic, NotFoundError
client = Anthropic()
assert 1 < client.messages.count_tokens(model="coder", messages=[{"role": "user", "content": "what is it about?"}]).input_tokens < 20
try: client.messages.count_tokens(model="nobody", messages=[]); raise SystemExit("no 404")
except NotFoundError as error: assert error.request_id.startswith("req_") and error.body["request_id"] == error.request_id
"""
NODE_RESPONSES = """
import OpenAI from 'openai';
const client = new OpenAI();
const check = (is, what) => { if (!is) throw new Error(JSON.stringify(what)); };
const whole = await client.responses.create({model: 'coder', input: 'what is it?'});
check(whole.output_text === ANSWER, whole);
const tools = [{type: 'function', name: 'look', parameters: {type: 'object', properties: {at: {type: 'integer'}}}, strict: false}];
const input = [{role: 'user', content: 'what is it?'}];
const called = await client.responses.stream({model: 'coder', input, tools}).finalResponse();
const call = called.output.find(item => item.type === 'function_call');
check(call.name === 'look' && JSON.parse(call.arguments).at === 1, called);
const end = await client.responses.create({model: 'coder', tools, input: [...input, ...called.output, {type: 'function_call_output', call_id: call.call_id, output: 'a cat'}]});
check(end.output_text === ANSWER, end);
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
    """A vendor for coding agents: it calls the first tool that it knows, and answers after its result."""

    protocol_version = "HTTP/1.1"
    tool_results = 0

    def known_calls(self):
        """Arguments by the names of tools: of OpenCode, Codex, Claude Code, and of the clients here."""
        # The name of the new file is in the result of the tool.
        patch = "*** Begin Patch\n*** Add File: a cat.txt\n+meow\n*** End Patch\n"
        return {"apply_patch": {"input": patch}, "read": {"filePath": str(self.file)}, "exec_command": {"cmd": f"cat {self.file}"}, "Read": {"file_path": str(self.file)},
                "look": {"at": 1}, "note": {"input": "a cat"}}

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply("application/json", json.dumps({"object": "list", "data": [{"id": "coder", "object": "model"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/embeddings"):
            vectors = [{"object": "embedding", "index": at, "embedding": [0.5, 1.0]} for at, _ in enumerate(body["input"])]
            return self.reply("application/json", json.dumps({"object": "list", "model": "v", "data": vectors, "usage": {"prompt_tokens": 2, "total_tokens": 2}}).encode())
        if "prompt" in body:
            choice = {"index": 0, "text": ANSWER, "finish_reason": "stop", "logprobs": None}
            return self.reply("application/json", json.dumps({"id": "c", "object": "text_completion", "created": 1, "model": "v", "choices": [choice]}).encode())
        names = {tool["function"]["name"] for tool in body.get("tools", [])}
        known = next((name for name in self.known_calls() if name in names), None)
        results = [message for message in body["messages"] if message["role"] == "tool"]
        # Agents send what the file says, and not only that they were called.
        type(self).tool_results += any("a cat" in json.dumps(message["content"]) for message in results)
        if known and not results:
            call = {"index": 0, "id": "c1", "type": "function", "function": {"name": known, "arguments": json.dumps(self.known_calls()[known])}}
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
    parser.add_argument("--codex")
    parser.add_argument("--claude")
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
        (folder / "animal.txt").write_text("a cat\n")
        vendor = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Vendor,), {"file": folder / "animal.txt"}))
        threading.Thread(target=vendor.serve_forever, daemon=True).start()
        coder = {"provider": "coder", "name": "coder", "adapter": "openai", "base_url": f"http://127.0.0.1:{vendor.server_port}/v1", "model": "coder"}
        (home / ".config/agentos/profiles/coder.json").write_text(json.dumps(coder))
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": token, "ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": token}
        failed = 0

        def run(name, command, holds=None, cwd=None, more=None):
            nonlocal failed
            done = subprocess.run(command, env=env | (more or {}), cwd=cwd, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
            well = done.returncode == 0 and (holds is None or holds in done.stdout)
            failed += not well
            print(f"{'ok' if well else 'FAILED':8} {name}" + ("" if well else "\n" + (done.stdout + done.stderr)[-1500:]), flush=True)

        def run_agent(name, command, more=None):
            """Runs a coding agent, which must send the result of its tool."""
            nonlocal failed
            vendor.RequestHandlerClass.tool_results = 0
            run(f"{name}: stream, a tool and its result", command, holds=ANSWER, cwd=folder, more=more)
            if not vendor.RequestHandlerClass.tool_results:
                failed += 1
                print(f"FAILED   {name} sent no result of its tool")

        python = clients / "python"
        run("openai (Python): document, stream, tools, errors", [python, "-c", f"ANSWER = {ANSWER!r}\n{OPENAI}"])
        run("anthropic (Python): document, stream, tools, errors", [python, "-c", f"ANSWER = {ANSWER!r}\n{ANTHROPIC}"])
        run("openai (Python): responses, free text, embeddings, completions", [python, "-c", f"ANSWER = {ANSWER!r}\n{RESPONSES}"])
        run("anthropic (Python): count of tokens", [python, "-c", COUNT])
        (folder / "llm").mkdir()
        (folder / "llm/extra-openai-models.yaml").write_text(f"- model_id: agentos\n  model_name: llamacpp\n  api_base: {base}/v1\n  api_key_name: agentos\n"
                                                         f"- model_id: answering\n  model_name: coder\n  responses: true\n  api_base: {base}/v1\n  api_key_name: agentos\n")
        (folder / "llm/keys.json").write_text(json.dumps({"agentos": token}))
        for streamed in ([], ["--no-stream"]):
            # llm keeps no conversation here, so the scripted model answers with its first answer, the call.
            run(f"llm {' '.join(streamed) or '(stream)'}", [clients / "llm", "-m", "agentos", *streamed, "hi"], more={"LLM_USER_PATH": str(folder / "llm")})
            run(f"llm with responses {' '.join(streamed) or '(stream)'}", [clients / "llm", "-m", "answering", *streamed, "hi"], holds=ANSWER, more={"LLM_USER_PATH": str(folder / "llm")})
        if args.node and shutil.which("npm"):
            args.node.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--prefix", str(args.node), "openai", "@anthropic-ai/sdk"], check=True, stdout=subprocess.DEVNULL)
            for name, text in (("openai", NODE_OPENAI), ("responses of openai", NODE_RESPONSES), ("anthropic", NODE_ANTHROPIC)):
                file = args.node / f"{name.split()[0]}.mjs"
                file.write_text(f"const ANSWER = {json.dumps(ANSWER)};\n{text}")
                run(f"{name} (Node): document, stream, tools", ["node", str(file)])
        else:
            print("skipped  the clients for Node: no --node, or no npm")
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
            run_agent("opencode run", [args.opencode, "run", "--model", "agentos/coder", "what is it?"], more=more)
        else:
            print("skipped  OpenCode: no --opencode")
        if args.codex:
            (folder / ".codex").mkdir()
            (folder / ".codex/config.toml").write_text(
                f'model = "coder"\nmodel_provider = "agentos"\n[model_providers.agentos]\nname = "AgentOS"\nbase_url = "{base}/v1"\n'
                'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n')
            # The agent's own sandbox needs namespaces, which a container may not have.
            run_agent("codex exec", [args.codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "what is it?"])
            # Codex has a free-text tool with a grammar for models that it knows by name.
            run_agent("codex exec with apply_patch", [args.codex, "exec", "-m", "coder/gpt-5.5", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "make it"])
            if not (folder / "a cat.txt").exists():
                failed += 1
                print("FAILED   codex applied no patch")
        else:
            print("skipped  Codex: no --codex")
        if args.claude:
            run_agent("claude --print", [args.claude, "--print", "--model", "coder", "what is it?"], more={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})
        else:
            print("skipped  Claude Code: no --claude")
        sys.exit(1 if failed else 0)
    finally:
        for process in started:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


main()
