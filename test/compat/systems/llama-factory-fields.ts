import { calling, fine, call as fragment } from '../answers.ts'
import { event, finish, has, header, lacks, status, text, upstreamGot, upstreamLacks } from '../checks.ts'
import {
  assistant,
  better,
  changes,
  chat,
  differs,
  type Group,
  get,
  keeps,
  over,
  type Row,
  refused,
  refuses,
  system,
  textPart,
  tool,
  user,
  works,
} from '../row.ts'
import { counting, inOrder, renders, streamed, wild } from './shown-steps.ts'

const fields: readonly Row[] = [
  better(
    23,
    ['roles', 'also `developer`; an unknown one is a 400 with the list'],
    renders({ messages: [{ role: 'developer', content: 'RULE' }, user('hi')] }, has('prompt', /system\nRULE.*user\nhi/s)),
    chat({ messages: [{ role: 'nobody', content: 'x' }] }, status(400, /role.*developer.*user.*assistant/)),
  ),
  better(
    24,
    ['`content: null`', 'of assistant messages; of others a 400, in place of 500'],
    renders({ messages: [user('ONE'), assistant(null), user('TWO')] }, has('prompt', inOrder('ONE', 'assistant', 'TWO'))),
    refuses(chat({ messages: [user(null)] }), 'messages[0].content'),
  ),
  better(
    25,
    ['lists of text parts', 'of every role, all parts'],
    renders(
      {
        messages: [
          system([textPart('S1'), textPart('S2')]),
          user([textPart('U1'), textPart('U2')]),
          assistant([textPart('A1'), textPart('A2')]),
          user('U3'),
        ],
      },
      has('prompt', inOrder('S1', 'S2', 'U1', 'U2', 'A1', 'A2', 'U3')),
    ),
  ),
  better(
    26,
    ['tools have description and parameters', 'both may be absent'],
    renders(
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      has('prompt', /"name": "f", "parameters": \{"type": "object"/),
    ),
  ),
  refused(
    27,
    [
      'tools of type `code_interpreter`',
      'the error says what to send: functions, custom tools, or `enable_tools`, which runs Python on the server',
    ],
    chat({ tools: [{ type: 'code_interpreter' }] }, status(400, /tools\[0\].*enable_tools/)),
  ),
  better(
    28,
    ['a tool without its function', '400, in place of 500'],
    chat({ tools: [{ type: 'function' }] }, status(400, /tools\[0\]\.function/)),
  ),
  works(
    29,
    '`do_sample: false` is greedy',
    over(fine, { do_sample: false }, upstreamGot('temperature', 0)),
    over(fine, { do_sample: true }, upstreamLacks('temperature')),
  ),
  works(
    30,
    '`temperature` up to 10',
    over(fine, { temperature: 9.5 }, upstreamGot('temperature', 9.5)),
    changes(counting(), { ...wild, temperature: 9.5 }),
    refuses(chat({ temperature: 10.5 }), 'temperature'),
  ),
  better(
    31,
    ['`top_p`', '0 to 1, else 400'],
    changes(counting(wild), { top_p: 0.1 }),
    refuses(chat({ top_p: 2 }), 'top_p'),
    refuses(chat({ top_p: -1 }), 'top_p'),
  ),
  better(
    32,
    ['`n`', 'also streamed'],
    chat({ n: 2 }, has('choices.0.message.content', 'hello'), has('choices.1.message.content', 'hello'), lacks('choices.2')),
    chat({ n: 2, stream: true }, streamed('hello', 'hello')),
  ),
  better(
    33,
    ['`presence_penalty`', 'as OpenAI defines it; `repetition_penalty` is a field of its own'],
    over(
      fine,
      { presence_penalty: 1.5, repetition_penalty: 1.25 },
      upstreamGot('presence_penalty', 1.5),
      upstreamGot('repetition_penalty', 1.25),
    ),
    changes(counting(wild), { presence_penalty: 2 }),
    changes(counting(wild), { repetition_penalty: 2 }),
  ),
  differs(
    34,
    [
      '`max_tokens` 0 or null is the default',
      'null and -1 are; 0 is a 400 that says so: it is a limit for OpenAI, and none elsewhere',
    ],
    chat({ max_tokens: null }, text('hello')),
    chat({ max_tokens: -1 }, text('hello')),
    refuses(chat({ max_tokens: 0 }), 'max_tokens'),
  ),
  works(
    35,
    '`max_tokens` beyond the context is shortened',
    chat({ model: 'short', max_tokens: 4096 }, text('hello'), header('x-dragoman-shortened', /max_tokens;asked=4096;room=19$/)),
  ),
  better(
    36,
    ['`stop`: a string or a list', 'also in streams, and empty ones are left out'],
    chat({ messages: [user('a STOP b')], stop: 'STOP' }, text('a '), finish('stop')),
    chat({ messages: [user('a STOP b')], stop: ['x', 'STOP'] }, text('a ')),
    chat({ messages: [user('{"chunks":["a ST","OP b"]}')], stop: ['STOP'], stream: true }, streamed('a '), finish('stop')),
    chat({ messages: [user('a b')], stop: ['', 'b'] }, text('a ')),
    chat({ stop: '' }, text('hello')),
  ),
  works(
    37,
    '`stream`',
    chat(
      { stream: true, messages: [user('a b c')] },
      header('content-type', /^text\/event-stream/),
      event('choices.0.delta.content', ' b'),
      streamed('a b c'),
      finish('stop'),
    ),
  ),
  better(
    38,
    [
      'fields that it ignores: `tool_choice`, `seed`, `logprobs`, `response_format`, `stream_options`, `frequency_penalty`',
      'all used',
    ],
    changes(counting(wild), { seed: 2 }),
    changes(counting(wild), { frequency_penalty: 2 }),
    counting({ logprobs: true }, has('choices.0.logprobs.content.0.token', '1')),
    counting({ response_format: { type: 'json_object' } }, text(/^\s*\{/)),
    chat({ stream: true, stream_options: { include_usage: true } }, event('usage.completion_tokens', 1)),
    over(
      calling(fragment('f', '{}')),
      { tools: [tool()], tool_choice: 'required' },
      upstreamGot('tool_choice', 'required'),
      finish('tool_calls'),
    ),
  ),
  works(
    39,
    'sampling defaults of the model',
    get('/props?model=dragoman-tiny', has('default_generation_settings.params.temperature', 0)),
    keeps(counting({ seed: 1 }), { seed: 2 }),
    changes(counting({ seed: 1 }), { temperature: 2 }),
  ),
]

/** What the fields of a chat do. */
export const llamaFactoryFields: readonly Group[] = [{ title: 'fields', rows: fields }]
