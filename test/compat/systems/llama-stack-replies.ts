import { call, calling, deltasThen, pieces, saying, whole } from '../answers.ts'
import { type Check, calls, event, finish, has, status, text } from '../checks.ts'
import { better, differs, type Group, over, type Row, tool, works, writes } from '../row.ts'
import { stackEnds } from './llama-stack-ends.ts'
import { overStack, stack } from './stack-steps.ts'

const f = { tool_name: 'f', parameters: { a: { param_type: 'string' } } }
const search = [{ tool_name: 'brave_search' }]
const says = (raw: string, fields: object, ...checks: readonly Check[]) =>
  overStack(saying(raw), { tools: [f], ...fields }, ...checks)
const stackCall = (name: string, args: object): Check =>
  has(
    'completion_message.tool_calls.0',
    (one: { tool_name: string; arguments: object } | undefined) =>
      one?.tool_name === name && JSON.stringify(one.arguments) === JSON.stringify(args),
  )

const texts: readonly Row[] = [
  works(51, '`<|eot_id|>` is left out', says('a<|eot_id|>', {}, has('completion_message.content', 'a'))),
  differs(
    52,
    ['`<|eom_id|>` is `end_of_message`', 'of a call; a text that ends so has nothing to follow, and is `end_of_turn`'],
    says('a<|eom_id|>', {}, has('completion_message.content', 'a'), has('completion_message.stop_reason', 'end_of_turn')),
  ),
  works(
    53,
    'text in the chunk that ends',
    over(
      pieces('data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n', 'data: [DONE]\n\n'),
      {},
      text('a'),
    ),
  ),
  works(54, 'the event that closes a stream', stack({ stream: true }, event('event.event_type', 'complete'))),
  works(
    55,
    'the header of the assistant is left out',
    says('<|start_header_id|>assistant<|end_header_id|>\n\na', {}, has('completion_message.content', 'a')),
  ),
  better(
    56,
    ['`<|python_tag|>`', 'also in pieces, and after a text'],
    says('look: <|python_tag|>brave_search.call(query="x")', { tools: search }, stackCall('brave_search', { query: 'x' })),
  ),
  works(
    57,
    'the tag with JSON, several with `;`',
    says(
      '<|python_tag|>{"name":"f","parameters":{"a":"1"}}; {"name":"f","parameters":{"a":"2"}}',
      {},
      has('completion_message.tool_calls.1'),
    ),
  ),
  works(
    58,
    'the tag with `NAME.call(query=…)`',
    says('<|python_tag|>brave_search.call(query="x")', { tools: search }, stackCall('brave_search', { query: 'x' })),
  ),
  works(
    59,
    '`NAME.call(query=…)` without the tag',
    says('brave_search.call(query="x")', { tools: search }, stackCall('brave_search', { query: 'x' })),
  ),
  works(
    60,
    'the tag with code calls code_interpreter',
    says(
      '<|python_tag|>import math',
      { tools: [{ tool_name: 'code_interpreter' }] },
      stackCall('code_interpreter', { code: 'import math' }),
    ),
  ),
  better(
    61,
    ['`<function=NAME>{…}`', 'also nested, and with single quotes'],
    says('<function=f>{"a": "x"}</function>', {}, stackCall('f', { a: 'x' })),
  ),
  better(
    62,
    ['a call as a JSON object', 'of declared names only'],
    says('{"type":"function","name":"f","parameters":{"a":"x"}}', {}, stackCall('f', { a: 'x' })),
  ),
  better(
    63,
    ['calls as a list of Python', 'all of them, also with values without names'],
    says('[f(a="1"), f(a="2")]', { tool_config: { tool_prompt_format: 'python_list' } }, has('completion_message.tool_calls.1')),
  ),
  works(64, 'without tools a text is a text', says('[f(a=1)]', { tools: [] }, has('completion_message.content', '[f(a=1)]'))),
  works(
    65,
    'an undeclared name is text',
    says('<function=zzz>{"a": "x"}</function>', {}, has('completion_message.content', /zzz/)),
  ),
  works(
    66,
    '`parse_status` started, in_progress, failed, succeeded',
    overStack(
      calling(call('f', '{"a":"x"}')),
      { stream: true, tools: [f] },
      event('event.delta.parse_status', 'started'),
      event('event.delta.parse_status', 'succeeded'),
    ),
    overStack(calling(call('f', '{oops')), { stream: true, tools: [f] }, event('event.delta.tool_call', 'f({oops)')),
  ),
  differs(
    67,
    [
      'a call that stops early, and the server says `stop`',
      'its arguments are as far as they came, and `x-dragoman-calls` says so',
    ],
    over(calling(call('f', '{"a":"lon')), { tools: [tool()] }, status(200)),
  ),
  differs(
    68,
    ['`toolFormat: llama3` reads other families', 'a configured format is the only one; without one, all are read'],
    writes('<tool_call>{"name":"f","arguments":{}}</tool_call>', { model: 'writes-llama3', tools: [tool()] }, status(200)),
  ),
  better(
    69,
    ['log-probabilities of raw chats', 'in whole replies and streams'],
    stack(
      { model_id: 'dragoman-tiny', sampling_params: { max_tokens: 2 }, logprobs: { top_k: 1 } },
      has('logprobs.0.logprobs_by_token'),
    ),
  ),
  works(
    123,
    'a list of Python with an undeclared name keeps the others',
    says(
      '[nope(a=1), f(a="x")]',
      { tool_config: { tool_prompt_format: 'python_list' } },
      has('completion_message.tool_calls', (all: { tool_name: string }[]) => all.some((one) => one.tool_name === 'f')),
    ),
  ),
  works(
    124,
    'a list of Python that ends after a comma',
    says('[f(a="1"), f(a="2"), ', { tool_config: { tool_prompt_format: 'python_list' } }, has('completion_message.content', '')),
  ),
  works(
    125,
    'a built-in call with another argument name',
    says('<|python_tag|>brave_search.call(q="x")', { tools: search }, stackCall('brave_search', { query: 'x' })),
  ),
]

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

const structured: readonly Row[] = [
  works(70, 'a reply without a choice is a 502', over(whole({ choices: [] }), {}, status(502))),
  differs(
    71,
    ['a stream without a finish reason', '502: what has not ended may lack its end'],
    over(
      pieces('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', 'data: [DONE]\n\n'),
      { model: 'openai' },
      status(502),
    ),
  ),
  works(
    72,
    'content, calls and messages that are null',
    over(
      whole({
        choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: null }, finish_reason: 'stop' }],
        usage: null,
      }),
      {},
      status(200),
    ),
  ),
  better(
    73,
    ['chunks with usage only, or without choices', 'read in any order'],
    over(
      pieces(
        'data: {"choices":[]}\n\n',
        'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
        'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n',
        'data: [DONE]\n\n',
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
      pieces(
        'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"length"}]}\n\n',
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":null}]}\n\n',
        'data: [DONE]\n\n',
      ),
      {},
      finish('length'),
    ),
  ),
  works(
    75,
    'a text and a call in one delta',
    over(
      deltasThen('tool_calls', { content: 'a', tool_calls: [call('f', '{}')] }),
      { tools: [tool()] },
      calls('f({})'),
      text('a'),
    ),
  ),
  works(
    76,
    'several calls in one delta',
    over(
      deltasThen('tool_calls', { tool_calls: [call('f', '{}'), call('f', '{"a":1}', 1)] }),
      { tools: [tool()] },
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
    ),
  ),
  better(
    78,
    ['fragments of calls in odd shapes', 'ids and indices may be missing or repeated'],
    over(calling(call('f', '{"a":'), { index: 0, function: { arguments: '1}' } }), { tools: [tool()] }, calls('f({"a":1})')),
  ),
  differs(
    79,
    ['a call as text, `NAME(args)`, in deltas', 'arguments only; the name is in the event that succeeds'],
    overStack(calling(call('f', '{"a":"x"}')), { stream: true, tools: [f] }, event('event.delta.tool_call.tool_name', 'f')),
  ),
  better(
    80,
    ['arguments that are not JSON', 'as the model wrote them; small mistakes are mended'],
    over(calling(call('f', "{'a': 1,}")), { tools: [tool()] }, calls('f({"a":1})')),
  ),
  better(
    81,
    ['one bad call among several', 'the others are made'],
    over(
      deltasThen('tool_calls', { tool_calls: [call('f', '{oops'), call('f', '{"a":1}', 1)] }),
      { tools: [tool()] },
      has('choices.0.message.tool_calls.1.function.arguments', /1/),
    ),
  ),
  better(
    82,
    ['a strict tool with bad arguments', '502'],
    over(
      calling(call('f', '{"a":"x"}')),
      {
        tools: [
          {
            type: 'function',
            function: {
              name: 'f',
              strict: true,
              parameters: {
                type: 'object',
                properties: { a: { type: 'integer' } },
                required: ['a'],
                additionalProperties: false,
              },
            },
          },
        ],
      },
      status(502),
    ),
  ),
  better(
    83,
    ['calls that end with `stop`', '`tool_calls`'],
    over(deltasThen('stop', { tool_calls: [call('f', '{}')] }), { tools: [tool()] }, finish('tool_calls')),
  ),
  works(84, 'a call of an undeclared function is text', over(calling(call('zzz', '{}')), { tools: [tool()] }, text(/zzz/))),
  works(85, '`refusal`', over(deltasThen('stop', { refusal: 'no' }), {}, has('choices.0.message.refusal', 'no'))),
  differs(
    86,
    [
      'annotations, `system_fingerprint`, `service_tier` of a server',
      'annotations are kept; the others name this server, which composes the reply',
    ],
    over(
      deltasThen('stop', {
        content: 'a',
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://x.example', title: 't', start_index: 0, end_index: 1 } },
        ],
      }),
      {},
      has('system_fingerprint', /^dragoman/),
    ),
  ),
  better(
    87,
    ['thoughts of a server', 'by every name, and from tags'],
    over(
      deltasThen('stop', { reasoning_content: 'r' }, { content: 'a' }),
      {},
      has('choices.0.message.reasoning_content', 'r'),
      text('a'),
    ),
  ),
  works(
    88,
    'calls in thoughts are text',
    says('<think><function=f>{"a":"x"}</function></think>b', {}, has('completion_message.tool_calls', [])),
  ),
  works(
    126,
    'families of calls without a template',
    ...Object.values(families).map((raw) => over(saying(raw), { tools: [tool()] }, calls('f({"a":1})'))),
  ),
]

/** What llama-stack makes of the replies of servers. */
export const stackReplies: readonly Group[] = [
  { title: 'calls in texts', rows: texts },
  { title: 'structured replies', rows: structured },
  ...stackEnds,
]
