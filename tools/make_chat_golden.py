"""Writes tests/golden/chat/cases.json: what transformers makes of chat templates. Run as tools/make_tokenizer_golden.py.

The templates *.jinja beside it are written after those of the families: the same constructs and texts, kept short.
"""
import json
import pathlib

from transformers.utils.chat_template_utils import _compile_jinja_template

FOLDER = pathlib.Path(__file__).parent.parent / "tests/golden/chat"
U = lambda text: {"role": "user", "content": text}
A = lambda text, **more: {"role": "assistant", "content": text} | more
S = lambda text: {"role": "system", "content": text}
TOOL = {"type": "function", "function": {"name": "grün", "description": "a \"b\" <c>", "parameters": {
    "type": "object", "properties": {"x": {"type": "number"}, "a": {"type": "array", "items": {}}}, "required": []}}}
CALL = {"type": "function", "function": {"name": "f", "arguments": {"x": 1.5, "s": "é\n", "n": None, "t": True}}}
CHATS = [
    [U("Hello")], [S("Be brief.  "), U("  Hi 👋\n")], [U("1"), A("2"), U("3")], [S(""), U("a"), A(" b "), U("c"), A("d")],
    [U("q"), A("<think>\nhmm\n</think>\n\nanswer"), U("again")], [U("q"), A("answer", reasoning_content="\nbecause\n")],
    [U("q"), A("<think>\nx\n</think>\n\ny")], [A("first")], [U("{{ no }} {% template %}"), A("<|im_end|>")],
    [S("s"), U("call"), A("", tool_calls=[CALL, CALL]), {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}, U("then")],
]
SNIPPETS = [
    "{{ messages[::-1] | map_none if false else 'x' }}", "{{ 'a' if messages else 'b' }}{{ 'c' if not messages }}|",
    "{% for m in messages %}\n  {% if loop.first %}\n    first\n  {% endif %}\n{{ m.role }}{% if not loop.last %}, {% endif %}\n{% endfor %}\n\n",
    "  {%- set x = [1, 2, 'three'] -%}  {{ x[1] }} {{ x[-1] }} {{ x[:2] | length }} {{ 'abcdef'[1:-1:2] }} {{ 'héé'[::-1] }}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}{{ ns.n // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}",
    "{{ missing is defined }}{{ missing }}{{ none }}{{ true }}{{ 1 is number }}{{ 'x' is string }}{{ {} is mapping }}{{ [] is iterable }}",
    "{{ 'a,b,,c'.split(',') | join('|') }}{{ '  a b '.split() | join('_') }}{{ ' x '.strip() ~ 1 ~ none }}{{ 'xxay'.lstrip('x') }}",
    "{{ {'b': 1, 'a': [true, none, 'ü\"']} | tojson }}{{ {'b': {'c': []}} | tojson(indent=2) }}{{ messages[0].get('zzz', 'dflt') }}",
    "{{ 'b' in 'abc' and 2 not in [1] or 3 }}{{ 1 == 1.0 }}{{ 'a' != 'b' }}{{ 2 > 1 and 1 <= 1 }}{{ not 0 }}{{ (1 + 2) * 3 }}{{ 'a' < 'b' }}",
    "{#- c -#} a {#+ c #}\n b\n{# d #}\nc{{- ' d ' -}} e\n\n", "{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for m in messages if m.role == 'user' %}{{ loop.index }}/{{ loop.length }} {% endfor %}{{ range(2, 7, 2) | list | length }}",
    "{{ 'ABC' | lower }}{{ 'abc' | upper }}{{ ' t ' | trim }}{{ missing | default('d') }}{{ messages | first | length }}{{ 'a-b' | replace('-', '+') }}",
    "{% if messages[0]['role'] == 'system' %}S{% elif messages | length > 2 %}L{% else %}O{% endif %}{{ raise_exception('no: ' + messages[0].role) }}",
    "a {% if true %} b {%- endif +%} c\n   {%+ if true %}d{% endif %}\n\t{% if true -%}\n\n e{% endif %}\n{{ \"q'\\\"\\n\" }}",
    "{{ strftime_now is defined }}{{ raise_exception is defined }}{{ range is defined }}{{ nothing is defined }}{{ 'f' if strftime_now }}",
    "{{ 'a' + 1 ~ 'b' }}{{ 2 * 3 ~ 4 }}{{ 'n' ~ -1 }}{{ 1 ~ 2 == '12' }}", "{{ 'x' ~ 1 + 2 }}", "{{ -(3)|string }}{{ - 2 + 5 }}{{ 2 - -2 }}",
    "{{ ''|default('y', boolean=true) }}{{ none|default(default_value='n', boolean=true) }}{{ ''|default('z') }}|{{ [1]|tojson(ensure_ascii=false) }}",
    "{{ 1 == true }}{{ 0 == false }}{{ '1' == true }}{{ {'a':1,'b':2} == {'b':2,'a':1.0} }}{{ [1, [true]] == [true, [1]] }}{{ true in [1] }}{{ {} == [] }}",
    "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1 == 2 }}{{ 'a' != 'b' not in ['b'] }}{{ 3 > 2 > 1 == 1 }}",
    "{{ 'abc'[1::9223372036854775807] }}{{ range(0, 9223372036854775807, 4611686018427387904)|list|length }}",
]


def outcome(source, variables):
    try:
        return {"text": _compile_jinja_template(source).render(**variables)}
    except Exception as error:  # what the template raises, and what is wrong with it
        return {"error": str(error)}


def main():
    cases = []
    for path in sorted(FOLDER.glob("*.jinja")):
        source = path.read_text()
        for messages in CHATS:
            for extra in ({}, {"enable_thinking": False}, {"enable_thinking": True}, {"tools": [TOOL, TOOL], "date_string": "26 Jul 2024"}):
                for prompt in (True, False):
                    if extra.get("enable_thinking") is not None and "enable_thinking" not in source:
                        continue
                    variables = {"messages": messages, "add_generation_prompt": prompt, "tools": None, "documents": None,
                                 "bos_token": "<s>", "eos_token": "</s>"} | extra
                    result = outcome(source, variables)
                    cases.append({"template": path.name, "messages": messages, "prompt": prompt, "extra": extra} | result)
    for source in SNIPPETS:
        for messages in CHATS[:4]:
            variables = {"messages": messages, "add_generation_prompt": True, "tools": None, "documents": None}
            cases.append({"source": source, "messages": messages, "prompt": True, "extra": {}} | outcome(source, variables))
    cases = [c for c in cases if not (len(cases) > 2000 and "error" in c)]
    (FOLDER / "cases.json").write_text(json.dumps(cases, ensure_ascii=False, indent=0))
    print(len(cases), "cases,", sum("error" in c for c in cases), "errors", {c.get("error") for c in cases})


main()
