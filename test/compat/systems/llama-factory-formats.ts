import { calls, finish, has, text } from '../checks.ts'
import { better, called, type Group, type Row, result, shownBy, tool, user, works, writes } from '../row.ts'
import { renders } from './shown-steps.ts'

const tools = [tool(), tool('g'), tool('get-weather')]
const f = (raw: string, format: string, ...wanted: readonly string[]) =>
  writes(raw, { model: `writes-${format}`, tools }, calls(...wanted), finish('tool_calls'))
const notCalled = (raw: string, format: string) => writes(raw, { model: `writes-${format}`, tools }, text(raw), calls())

const formats: readonly Row[] = [
  better(
    71,
    ['`default` (ReAct)', 'also names with hyphens'],
    f('Action: f\nAction Input: {"a": 1}\nAction: g\nAction Input: {}', 'react', 'f({"a":1})', 'g({})'),
    f('Action: get-weather\nAction Input: {"a": 1}', 'react', 'get-weather({"a":1})'),
  ),
  better(
    72,
    ['`llama3`', 'numbers and lists are text'],
    f('{"name":"f","parameters":{"a":1}}', 'llama3', 'f({"a":1})'),
    notCalled('42', 'llama3'),
    notCalled('[]', 'llama3'),
  ),
  better(
    73,
    ['`mistral`', 'with the marker in front'],
    f('[{"name":"f","arguments":{"a":1}}]', 'mistral', 'f({"a":1})'),
    f('[TOOL_CALLS][{"name":"f","arguments":{"a":1}},{"name":"g","arguments":{}}]', 'mistral', 'f({"a":1})', 'g({})'),
  ),
  better(
    74,
    ['`qwen`', 'text around calls is kept'],
    writes(
      'before <tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call> after',
      { model: 'writes-hermes', tools },
      calls('f({"a":1})'),
      text('before after'),
    ),
  ),
  works(
    75,
    '`ling`',
    f(
      '<tool_call>\n{"name":"f","arguments":{}}\n</tool_call>\n<tool_call>\n{"name":"g","arguments":{}}\n</tool_call>',
      'hermes',
      'f({})',
      'g({})',
    ),
  ),
  works(
    76,
    '`qwen3_5`',
    f(
      '<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n</tool_call>',
      'qwen3-coder',
      'f({"a":1})',
      'g({})',
    ),
  ),
  better(
    77,
    ['`seed_oss`', 'the name is `f`, not `f>`'],
    f('<seed:tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</seed:tool_call>', 'seed-oss', 'f({"a":1})'),
  ),
  better(
    78,
    ['`minimax1`', 'a bad line stays text, the others are calls'],
    f(
      '<tool_calls>\n{"name":"f","arguments":{}}\nbad line\n{"name":"g","arguments":{}}\n</tool_calls>',
      'tool-calls-tag',
      'f({})',
      'g({})',
    ),
    writes(
      '<tool_calls>\nbad line\n{"name":"f","arguments":{}}\n</tool_calls>',
      { model: 'writes-tool-calls-tag', tools },
      text(/bad line/),
    ),
  ),
  better(
    79,
    ['`minimax2`', 'an empty wrapper is text'],
    f(
      '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n<invoke name="g">\n</invoke>\n</minimax:tool_call>',
      'minimax-m2',
      'f({"a":1})',
      'g({})',
    ),
    notCalled('<minimax:tool_call>\n</minimax:tool_call>', 'minimax-m2'),
  ),
  better(80, ['`glm4`', 'lines with numbers are text'], f('f\n{"a": 1}', 'glm4', 'f({"a":1})'), notCalled('Hello\n42', 'glm4')),
  better(
    81,
    ['`glm4_moe`', 'read, which LLaMA-Factory does not'],
    f('<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>', 'glm', 'f({"a":1})'),
  ),
  better(
    82,
    ['`gemma4`', 'values with commas and colons'],
    f('<|tool_call>call:f{a:<|"|>x, y: z<|"|>}<tool_call|>', 'gemma4', 'f({"a":"x,y:z"})'),
  ),
  better(
    83,
    ['`lfm2`', 'also values without a name'],
    f('<|tool_call_start|>[f(a=1), g()]<|tool_call_end|>', 'lfm2', 'f({"a":1})', 'g({})'),
    f('<|tool_call_start|>[f("x")]<|tool_call_end|>', 'lfm2', 'f({"a":"x"})'),
  ),
  works(
    84,
    '`tool_format`: `toolFormat`',
    f('<tool_call>{"name":"f","arguments":{}}</tool_call>', 'hermes', 'f({})'),
    notCalled('<tool_call>{"name":"f","arguments":{}}</tool_call>', 'react'),
  ),
  works(
    85,
    'results are wrapped as the family does',
    renders(
      { messages: [user('q'), called('{}'), result('RES')] },
      has('prompt', /<\|im_start\|>tool\n<tool_response>\nRES\n<\/tool_response><\|im_end\|>/),
    ),
    shownBy('../src/model-text/template/histories.test.ts', 'renders what clients send, and loses nothing of it'),
  ),
]

/** How models write calls. */
export const llamaFactoryFormats: Group = { title: 'formats of calls', rows: formats }
