import { fine } from '../answers.ts'
import { type Check, calls, event, finish, has, header, status, text, upstreamGot, upstreamLacks } from '../checks.ts'
import {
  assistant,
  better,
  called,
  changes,
  chat,
  complete,
  differs,
  elsewhere,
  type Group,
  over,
  post,
  type Row,
  refused,
  refuses,
  result,
  sent,
  shownBy,
  starts,
  system,
  textPart,
  tiny,
  tool,
  user,
  works,
} from '../row.ts'
import { noPeers } from './mlc-steps.ts'
import { counting, inOrder, renders, streamed, wild } from './shown-steps.ts'

/** A chat where the operator allows debugging. */
const debugged = (debug: object, more: object, ...checks: readonly Check[]) =>
  elsewhere(
    post(
      '/llm/v1/chat/completions',
      { model: 'any', max_tokens: 3, messages: [user('x')], debug_config: debug, ...more },
      ...checks,
    ),
  )
const withPieces = { stream: true, stream_options: { include_usage: true } }
/** Tokens of dragoman-tiny. */
const [one, comma] = [16, 11]
const emptyTool = tool('f', { type: 'object', properties: {} })
const weather = [tool('get_weather', { type: 'object', properties: { location: { type: 'string' } } })]
const asked = { max_tokens: 40, messages: [user('What is the weather in Paris?')], tools: weather }

const labelled = chat({ user: 'x', messages: [user('{"chunks":["a","b"],"delayMs":200}')] }, text('ab'))

const fields: readonly Row[] = [
  differs(23, ['empty `messages`', 'a 400: there is nothing to answer'], refuses(chat({ messages: [] }), 'messages')),
  better(
    24,
    ['lists of parts for users only', 'for every role'],
    renders(
      { messages: [system([textPart('SYS')]), user([textPart('ONE')]), assistant([textPart('TWO')]), user('THREE')] },
      has('prompt', inOrder('SYS', 'ONE', 'TWO', 'THREE')),
    ),
  ),
  works(
    25,
    '`messages[].name`',
    over(
      fine,
      { messages: [user('b', { name: 'n' })] },
      text('ok'),
      upstreamGot('messages.0', { role: 'user', content: 'b', name: 'n' }),
    ),
    chat({ messages: [user('b', { name: 'n' })] }, text('b')),
  ),
  works(
    26,
    'arguments of earlier calls as an object',
    renders({ messages: [user('q'), called({ a: 1 }), result('r')] }, has('prompt', /"arguments": \{"a": 1\}/)),
  ),
  better(
    27,
    ['earlier calls of the assistant', 'served, where MLC-LLM sends 400'],
    renders(
      { messages: [user('q'), called('{"a":1}'), result('RES')], tools: [tool()] },
      has('prompt', inOrder('user\nq', '<tool_call>\n{"name": "f", "arguments": {"a": 1}}', 'RES')),
    ),
    over(
      fine,
      { messages: [user('q'), called('{"a":1}'), result('RES')], tools: [tool()] },
      upstreamGot('messages.1.tool_calls.0.function', { name: 'f', arguments: '{"a":1}' }),
      upstreamGot('messages.2.content', 'RES'),
    ),
  ),
  works(
    28,
    'penalties from -2 to 2',
    over(
      fine,
      { frequency_penalty: -2, presence_penalty: 2 },
      upstreamGot('frequency_penalty', -2),
      upstreamGot('presence_penalty', 2),
    ),
    changes(counting(wild), { frequency_penalty: 2 }),
    changes(counting(wild), { presence_penalty: -2 }),
    refuses(chat({ frequency_penalty: 3 }), 'frequency_penalty'),
    refuses(chat({ presence_penalty: -3 }), 'presence_penalty'),
  ),
  works(
    29,
    '`top_logprobs` up to 20, with `logprobs`',
    counting(
      { logprobs: true, top_logprobs: 20 },
      has('choices.0.logprobs.content.0.top_logprobs', (top: { logprob: number }[]) => {
        return top.length === 20 && top.every(({ logprob }, place) => place === 0 || logprob <= (top[place - 1]?.logprob ?? 0))
      }),
    ),
    refuses(chat({ logprobs: true, top_logprobs: 21 }), 'top_logprobs'),
    refuses(chat({ top_logprobs: 2 }), 'top_logprobs'),
  ),
  works(
    30,
    '`logit_bias`',
    counting({ logit_bias: { [one]: -100 } }, text(/^[^1]/)),
    over(fine, { logit_bias: { 5: -100 } }, upstreamGot('logit_bias', { 5: -100 })),
    chat({ logit_bias: { a: 1 } }, status(400, /logit_bias/)),
    chat({ logit_bias: { 5: 101 } }, status(400, /logit_bias/)),
  ),
  works(
    31,
    '`max_tokens: -1` is no limit',
    chat({ max_tokens: -1, messages: [user('a b c')] }, text('a b c'), finish('stop')),
    over(fine, { max_tokens: -1 }, upstreamLacks('max_tokens')),
  ),
  better(32, ['a bad `n`', '400, in place of 500'], refuses(chat({ n: 0 }), 'n'), refuses(chat({ n: -1 }), 'n')),
  works(
    33,
    '`seed`; choice i has seed + i',
    changes(counting(wild), { seed: 2 }),
    shownBy('e2e/engines/choices-llama.test.ts', 'choice i is what one choice with the seed + i is'),
  ),
  works(
    34,
    '`seed` null or -1 is random',
    over(fine, { seed: -1 }, upstreamLacks('seed')),
    over(fine, { seed: null }, upstreamLacks('seed')),
    over(fine, { seed: 7 }, upstreamGot('seed', 7)),
    shownBy('../src/engine/llama/channel/resolve-sampling.test.ts', 'a missing seed is different each time'),
  ),
  works(
    35,
    '`stop`',
    chat({ messages: [user('a STOP b')], stop: ['x', 'STOP'] }, text('a '), has('choices.0.stop_reason', 'STOP'), finish('stop')),
    counting({ stop: '5' }, text('1, 2, 3, 4, ')),
  ),
  works(
    36,
    'stop token ids',
    counting({ stop_token_ids: [comma] }, text('1'), finish('stop')),
    over(fine, { stop_token_ids: [5] }, upstreamGot('stop_token_ids', [5])),
  ),
  better(
    37,
    ['`stream_options` without `stream` is an error', 'accepted: a complete reply has its usage'],
    chat({ stream_options: { include_usage: true } }, text('hello'), has('usage.total_tokens', 2)),
  ),
  better(38, ['`stream_options: {}`', 'accepted'], chat({ stream: true, stream_options: {} }, streamed('hello'))),
  better(
    39,
    ['bad temperatures and `top_p`', '400, in place of 500'],
    refuses(chat({ temperature: -1 }), 'temperature'),
    refuses(chat({ top_p: 1.1 }), 'top_p'),
  ),
  works(
    40,
    '`tools`, and `tool_choice` none, auto or a function',
    tiny({ ...asked, tool_choice: 'auto' }, calls('get_weather({"location":"Paris"})'), finish('tool_calls')),
    tiny({ ...asked, tool_choice: 'none' }, calls(), text(/^\w/), finish('stop')),
    tiny(
      { max_tokens: 40, tools: [tool('g'), emptyTool], tool_choice: { type: 'function', function: { name: 'f' } } },
      calls('f({})'),
    ),
  ),
  better(
    41,
    ['`tool_choice: required`', 'enforced by a grammar'],
    tiny({ max_tokens: 40, tools: [emptyTool], tool_choice: 'required' }, calls('f({})')),
    over(fine, { tools: [emptyTool], tool_choice: 'required' }, status(502, /tool_choice|call/)),
  ),
  better(
    42,
    ['`user` is the id of the run', 'a label; equal ones run side by side'],
    starts(labelled),
    chat({ user: 'x' }, text('hello'), has('id', /^chatcmpl-/)),
    labelled,
  ),
  works(
    43,
    'an id for each request',
    sent({ headers: { 'x-request-id': 'mine' } }, chat({}, header('x-request-id', /^mine$/), has('id', /^chatcmpl-/))),
    chat({}, header('x-request-id', /^req_[0-9a-f]{32}$/)),
  ),
  works(
    44,
    '`response_format`, its schema as a string',
    tiny(
      {
        max_tokens: 20,
        response_format: { type: 'json_object', schema: '{"type":"object","properties":{},"additionalProperties":false}' },
      },
      text(/^\{\s*\}$/),
      header('x-dragoman-structured', /full/),
    ),
    chat({ response_format: { type: 'text' } }, text('hello')),
  ),
  works(
    '44a',
    '`response_format: structural_tag`',
    tiny(
      {
        max_tokens: 20,
        response_format: { type: 'structural_tag', tags: [{ begin: ' ', schema: '{"const":7}', end: ';' }], triggers: [' '] },
      },
      text(/^\S+( 7;\S*)+( 7?)?$/),
      header('x-dragoman-structured', /full/),
    ),
  ),
  better(
    45,
    ['`response_format: json_schema`', 'enforced while it is generated'],
    tiny(
      { max_tokens: 20, response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { const: 7 } } } },
      text('7'),
      header('x-dragoman-structured', /full/),
    ),
  ),
  works(
    46,
    '`debug_config.ignore_eos`, and as a field of its own',
    debugged({ ignore_eos: true }, {}, text('xxx'), finish('length')),
    debugged({ ignore_eos: false }, {}, text('x'), finish('stop')),
    tiny({ ignore_eos: true, max_tokens: 24 }, text(/^Hello! How can I help you\?./), finish('length')),
    tiny({ max_tokens: 24 }, text('Hello! How can I help you?'), finish('stop')),
  ),
  works(
    47,
    '`debug_config.pinned_system_prompt`',
    debugged({ pinned_system_prompt: true }, {}, text('x'), header('x-dragoman-ignored', /^$/)),
    debugged({ pinned_system_prompt: 3 }, {}, status(400, /debug_config\.pinned_system_prompt/)),
  ),
  works(
    48,
    '`debug_config.special_request`',
    debugged({}, {}, text('x')),
    debugged(
      { special_request: 'query_engine_metrics' },
      withPieces,
      event('choices', []),
      event('usage.prompt_tokens', 0),
      event('usage.extra.completion_tokens_sum', (count: number) => count > 0),
      streamed(),
    ),
    debugged({ special_request: 'query_engine_metrics' }, {}, status(400, /stream/)),
  ),
  works(
    49,
    '`debug_config.grammar_execution_mode`',
    debugged({ grammar_execution_mode: 'constraint' }, {}, text('x'), header('x-dragoman-ignored', /^$/)),
    debugged({ grammar_execution_mode: 'jump_forward' }, {}, text('x'), header('x-dragoman-ignored', /^$/)),
    debugged({ grammar_execution_mode: 'x' }, {}, status(400, /expected constraint or jump_forward/)),
  ),
  refused(
    50,
    ['`debug_config.disagg_config`', noPeers],
    debugged({ disagg_config: { kind: 'prepare_receive' } }, {}, status(400, /debug_config\.disagg_config/)),
  ),
  works(
    51,
    '`best_of` other than 1 is a 400',
    refuses(complete({ best_of: 2 }), 'best_of'),
    complete({ best_of: 1 }, text('hello')),
  ),
]

/** What the fields of a chat do. */
export const mlcFields: Group = { title: 'fields', rows: fields }
