import { call, calling, deltasThen, pieces, saying, whole } from '../answers.ts'
import { calls, events, finish, has, header, lacks, status, text, upstreamGot, upstreamGotEach } from '../checks.ts'
import { better, differs, over, type Row, tool, works } from '../row.ts'
import { content, f, overStack, says, stackCalls } from './stack-steps.ts'

const families: Readonly<Record<string, string>> = {
  hermes: '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>',
  'qwen3-coder': '<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>',
  mistral: '[TOOL_CALLS][{"name":"f","arguments":{"a":1}}]',
  gemma4: '<|tool_call>call:f{a:1}<tool_call|>',
  llama4: '<|python_start|>[f(a=1)]<|python_end|>',
  'minimax-m2': '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n</minimax:tool_call>',
  harmony: '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}',
  react: 'Action: f\nAction Input: {"a": 1}',
  functools: 'functools[{"name":"f","arguments":{"a":1}}]',
  'command-r7b': '<|START_ACTION|>[{"tool_call_id":"0","tool_name":"f","parameters":{"a":1}}]<|END_ACTION|>',
  nemotron: '<TOOLCALL>[{"name":"f","arguments":{"a":1}}]</TOOLCALL>',
  lfm2: '<|tool_call_start|>[f(a=1)]<|tool_call_end|>',
}
const citation = { url: 'https://x.example', title: 't', start_index: 0, end_index: 1 }
const tools = [tool()]
const chunk = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }], ...more })}\n\n`
const done = 'data: [DONE]\n\n'
const strict = {
  type: 'function',
  function: {
    name: 'f',
    strict: true,
    parameters: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
  },
}

export const stackStructured: readonly Row[] = [
  works(70, 'a reply without a choice is a 502', over(whole({ choices: [] }), {}, status(502, /without saying how it finished/))),
  differs(
    71,
    ['a stream without a finish reason', '502: what has not ended may lack its end'],
    over(pieces(chunk({ delta: { content: 'a' } }), done), { model: 'openai' }, status(502, /without saying how it finished/)),
  ),
  works(
    72,
    'content, calls and messages that are null',
    ...[{ role: 'assistant', content: null, tool_calls: null }, null].map((message) =>
      over(
        whole({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage: null }),
        {},
        text(''),
        calls(),
        finish('stop'),
      ),
    ),
  ),
  better(
    73,
    ['chunks with usage only, or without choices', 'read in any order'],
    over(
      pieces(
        'data: {"choices":[]}\n\n',
        'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n',
        chunk({ delta: { content: 'a' }, finish_reason: 'stop' }),
        'data: {"choices":[]}\n\n',
        done,
      ),
      {},
      text('a'),
      has('usage.prompt_tokens', 3),
    ),
    over(
      pieces(
        chunk({ delta: { content: 'a' }, finish_reason: 'stop' }),
        'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n',
        done,
      ),
      {},
      text('a'),
      has('usage.prompt_tokens', 3),
    ),
  ),
  better(
    74,
    ['a finish reason is not overwritten by null', '`length` stays'],
    over(
      pieces(chunk({ delta: { content: 'a' }, finish_reason: 'length' }), chunk({ delta: {}, finish_reason: null }), done),
      {},
      text('a'),
      finish('length'),
    ),
  ),
  works(
    75,
    'a text and a call in one delta',
    over(deltasThen('tool_calls', { content: 'a', tool_calls: [call('f', '{}')] }), { tools }, calls('f({})'), text('a')),
  ),
  works(
    76,
    'several calls in one delta',
    over(
      deltasThen('tool_calls', { tool_calls: [call('f', '{}'), call('f', '{"a":1}', 1)] }),
      { tools },
      calls('f({})', 'f({"a":1})'),
    ),
  ),
  works(
    77,
    'JSON in place of a stream',
    over(
      whole({ choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }] }),
      { stream: true },
      text('a'),
      finish('stop'),
    ),
  ),
  better(
    78,
    ['fragments of calls in odd shapes', 'ids and indices may be missing or repeated'],
    ...[
      [call('f', '{"a":'), { index: 0, function: { arguments: '1}' } }],
      [call('f', '{"a":'), { index: 0, id: 'call_0', function: { name: 'f', arguments: '1}' } }],
      [call('f', '{"a":'), { index: 0, id: null, function: { name: null, arguments: '1}' } }],
      [{ id: 'a', function: { name: 'f', arguments: '{"a":' } }, { function: { arguments: '1}' } }],
      [{ index: 0, function: { name: 'f', arguments: { a: 1 } } }],
    ].map((fragments) => over(calling(...fragments), { tools }, calls('f({"a":1})'))),
    over(calling(call('f', '{"a":1}'), { ...call('f', '{"a":2}'), id: 'another' }), { tools }, calls('f({"a":1})', 'f({"a":2})')),
  ),
  differs(
    79,
    ['a call as text, `NAME(args)`, in deltas', 'arguments only; the name is in the event that succeeds'],
    overStack(
      calling(call('f', '{"a":"x"}')),
      { stream: true, tools: [f] },
      events('event.delta.tool_call.tool_name', 'f'),
      events('event.delta.tool_call', '', '{"a":"x"}', {
        call_id: 'call_0',
        tool_name: 'f',
        arguments: { a: 'x' },
        arguments_json: '{"a":"x"}',
      }),
    ),
  ),
  better(
    80,
    ['arguments that are not JSON', 'as the model wrote them; small mistakes are mended'],
    over(calling(call('f', "{'a': 1,}")), { tools }, calls('f({"a":1})'), header('x-dragoman-calls', /call_0;state=repaired/)),
    over(calling(call('f', '{oops')), { tools }, calls('f({oops)'), header('x-dragoman-calls', /call_0;state=unparseable/)),
    overStack(calling(call('f', '{oops')), { tools: [f] }, stackCalls(['f', '{oops'])),
  ),
  better(
    81,
    ['one bad call among several', 'the others are made'],
    overStack(
      deltasThen('tool_calls', { tool_calls: [call('f', '{oops'), call('f', '{"a":"1"}', 1)] }),
      { tools: [f] },
      stackCalls(['f', '{oops'], ['f', { a: '1' }]),
    ),
  ),
  better(
    82,
    ['a strict tool with bad arguments', '502'],
    over(calling(call('f', '{"a":"x"}')), { tools: [strict] }, status(502, /strict tool 'f'.*\/a must be integer/)),
    over(calling(call('f', '{"a":1}')), { tools: [strict] }, calls('f({"a":1})'), upstreamGot('tools.0.function.strict', true)),
  ),
  better(
    83,
    ['calls that end with `stop`', '`tool_calls`'],
    over(deltasThen('stop', { tool_calls: [call('f', '{}')] }), { tools }, calls('f({})'), finish('tool_calls')),
  ),
  works(
    84,
    'a call of an undeclared function is text',
    over(calling(call('zzz', '{}')), { tools }, text('{"name": "zzz", "arguments": {}}'), calls(), finish('stop')),
  ),
  works(
    85,
    '`refusal`',
    over(
      deltasThen('stop', { refusal: 'no' }),
      {},
      has('choices.0.message.refusal', 'no'),
      has('choices.0.message.content', null),
    ),
    overStack(deltasThen('stop', { refusal: 'no' }), {}, content('no')),
  ),
  differs(
    86,
    [
      'annotations, `system_fingerprint`, `service_tier` of a server',
      'annotations are kept; the others name this server, which composes the reply',
    ],
    over(
      pieces(
        chunk(
          { delta: { content: 'a', annotations: [{ type: 'url_citation', url_citation: citation }] }, finish_reason: 'stop' },
          { system_fingerprint: 'fp_up', service_tier: 'flex' },
        ),
        done,
      ),
      {},
      has('choices.0.message.annotations.0.url_citation', citation),
      has('system_fingerprint', /^dragoman/),
      lacks('service_tier'),
    ),
  ),
  better(
    87,
    ['thoughts of a server', 'by every name, and from tags'],
    ...[
      [{ reasoning_content: 'r' }, { content: 'a' }],
      [{ reasoning: 'r' }, { content: 'a' }],
      [{ content: '<think>r</think>a' }],
    ].map((deltas) => over(deltasThen('stop', ...deltas), {}, has('choices.0.message.reasoning_content', 'r'), text('a'))),
  ),
  works(
    88,
    'calls in thoughts are text',
    says('<think><function=f>{"a":"x"}</function></think>b', {}, stackCalls(), content('b')),
  ),
  works(
    126,
    'families of calls without a template',
    ...Object.values(families).map((raw) => over(saying(raw), { tools }, calls('f({"a":1})'), upstreamGotEach('model', 'up'))),
  ),
]
