import { call, calling, pieces, saying } from '../answers.ts'
import { body, calls, event, events, has, header, lacks, text } from '../checks.ts'
import { better, differs, type Group, over, type Row, tool, works, writes } from '../row.ts'
import { stackEnds } from './llama-stack-ends.ts'
import { stackStructured } from './llama-stack-structured.ts'
import { content, f, overStack, says, stack, stackCalls, stopReason } from './stack-steps.ts'

const search = { tools: [{ tool_name: 'brave_search' }] }
const asPython = { tool_config: { tool_prompt_format: 'python_list' } }
const searched = stackCalls(['brave_search', { query: 'x' }])

const hermes = '<tool_call>{"name":"f","arguments":{}}</tool_call>'
const twoTokens = { model_id: 'dragoman-tiny', sampling_params: { max_tokens: 2 } }
/** Of each position, at most two tokens with their log-probabilities. */
const isScores = (found: readonly { readonly logprobs_by_token: Readonly<Record<string, number>> }[] | undefined) =>
  found?.every(
    ({ logprobs_by_token: scores }) => Object.values(scores).length === 2 && Object.values(scores).every((one) => one < 0),
  )

const texts: readonly Row[] = [
  works(51, '`<|eot_id|>` is left out', says('a<|eot_id|>', {}, content('a'), stopReason('end_of_turn'))),
  differs(
    52,
    ['`<|eom_id|>` is `end_of_message`', 'of a call; a text that ends so has nothing to follow, and is `end_of_turn`'],
    says('a<|eom_id|>', {}, content('a'), stopReason('end_of_turn')),
    says('<function=f>{"a": "x"}</function><|eom_id|>', {}, content(''), stopReason('end_of_message')),
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
  works(
    54,
    'the event that closes a stream',
    stack(
      { stream: true },
      events('event.event_type', 'start', 'progress', 'complete'),
      events('event.stop_reason', 'end_of_turn'),
      body(/"event_type":"complete"[^\n]*\n\n$/),
    ),
  ),
  works(
    55,
    'the header of the assistant is left out',
    says('<|start_header_id|>assistant<|end_header_id|>\n\na', {}, content('a')),
  ),
  better(
    56,
    ['`<|python_tag|>`', 'also in pieces, and after a text'],
    overStack(saying('look: <|pyth', 'on_tag|>brave_se', 'arch.call(query="x")'), search, content(/^look: ?$/), searched),
  ),
  works(
    57,
    'the tag with JSON, several with `;`',
    says(
      '<|python_tag|>{"name":"f","parameters":{"a":"1"}}; {"name":"f","parameters":{"a":"2"}}',
      {},
      content(''),
      stackCalls(['f', { a: '1' }], ['f', { a: '2' }]),
    ),
  ),
  works(
    58,
    'the tag with `NAME.call(query=…)`',
    says('<|python_tag|>brave_search.call(query="x")', search, content(''), searched),
  ),
  works(
    59,
    '`NAME.call(query=…)` without the tag',
    says('brave_search.call(query="x")', search, content(''), searched),
    says('wolfram_alpha.call(query="x")', search, content('wolfram_alpha.call(query="x")'), stackCalls()),
  ),
  works(
    60,
    'the tag with code calls code_interpreter',
    says(
      '<|python_tag|>import math',
      { tools: [{ tool_name: 'code_interpreter' }] },
      content(''),
      stackCalls(['code_interpreter', { code: 'import math' }]),
    ),
  ),
  better(
    61,
    ['`<function=NAME>{…}`', 'also nested, and with single quotes'],
    says(
      `<function=f>{"a": {"b": "it's"}}</function>`,
      { tools: [{ tool_name: 'f', parameters: { a: { param_type: 'dict' } } }] },
      content(''),
      stackCalls(['f', { a: { b: "it's" } }]),
    ),
    says("<function=f>{'a': 'x'}</function>", {}, content(''), stackCalls(['f', { a: 'x' }])),
  ),
  better(
    62,
    ['a call as a JSON object', 'of declared names only'],
    ...['{"type":"function","name":"f","parameters":{"a":"x"}}', '{"name":"f","parameters":{"a":"x"}}'].map((raw) =>
      says(raw, {}, content(''), stackCalls(['f', { a: 'x' }])),
    ),
    ...['{"name":"bob","parameters":{"a":"x"}}', '{"name":"f","age":3}'].map((raw) => says(raw, {}, content(raw), stackCalls())),
  ),
  better(
    63,
    ['calls as a list of Python', 'all of them, also with values without names'],
    says('[f(a="1"), f("2)")]', asPython, content(''), stackCalls(['f', { a: '1' }], ['f', { a: '2)' }])),
  ),
  works(
    64,
    'without tools a text is a text',
    ...['[f(a=1)]', '<function=f>{"a": "x"}</function>', '<|python_tag|>f.call(query="x")'].map((raw) =>
      says(raw, { tools: [] }, content(raw), stackCalls()),
    ),
  ),
  works(
    65,
    'an undeclared name is text',
    says('<function=zzz>{"a": "x"}</function>', {}, content('<function=zzz>{"a": "x"}</function>'), stackCalls()),
  ),
  works(
    66,
    '`parse_status` started, in_progress, failed, succeeded',
    overStack(
      calling(call('f', '{"a":"x"}')),
      { stream: true, tools: [f] },
      events('event.delta.parse_status', 'started', 'in_progress', 'succeeded'),
      event('event.delta.tool_call.arguments', { a: 'x' }),
    ),
    overStack(
      calling(call('f', '{oops')),
      { stream: true, tools: [f] },
      event('event.delta.parse_status', 'failed'),
      event('event.delta.tool_call', 'f({oops)'),
    ),
  ),
  differs(
    67,
    [
      'a call that stops early, and the server says `stop`',
      'its arguments are as far as they came, and `x-dragoman-calls` says so',
    ],
    over(
      calling(call('f', '{"a":"lon')),
      { tools: [tool()] },
      calls('f({"a":"lon)'),
      header('x-dragoman-calls', /call_0;state=unparseable/),
    ),
    overStack(
      calling(call('f', '{"a":"lon')),
      { tools: [f] },
      stackCalls(['f', '{"a":"lon']),
      header('x-dragoman-calls', /call_0;state=unparseable/),
    ),
  ),
  differs(
    68,
    ['`toolFormat: llama3` reads other families', 'a configured format is the only one; without one, all are read'],
    writes(hermes, { model: 'writes-llama3', tools: [tool()] }, text(hermes), calls()),
    over(saying(hermes), { tools: [tool()] }, calls('f({})')),
  ),
  better(
    69,
    ['log-probabilities of raw chats', 'in whole replies and streams'],
    stack({ ...twoTokens, logprobs: { top_k: 2 } }, has('logprobs', isScores)),
    stack({ ...twoTokens, logprobs: { top_k: 2 }, stream: true }, event('event.logprobs', isScores)),
    stack(twoTokens, lacks('logprobs'), stopReason('out_of_tokens')),
  ),
  works(
    123,
    'a list of Python with an undeclared name keeps the others',
    says('[nope(a=1), f(a="x")]', asPython, stackCalls(['f', { a: 'x' }]), content(/nope\(a=1\)/)),
  ),
  works(
    124,
    'a list of Python that ends after a comma',
    says('[f(a="1"), f(a="2"), ', asPython, content(''), stackCalls(['f', { a: '1' }], ['f', { a: '2' }])),
  ),
  works(
    125,
    'a built-in call with another argument name',
    says('<|python_tag|>brave_search.call(q="x")', search, content(''), searched),
  ),
]

/** What llama-stack makes of the replies of servers. */
export const stackReplies: readonly Group[] = [
  { title: 'calls in texts', rows: texts },
  { title: 'structured replies', rows: stackStructured },
  ...stackEnds,
]
