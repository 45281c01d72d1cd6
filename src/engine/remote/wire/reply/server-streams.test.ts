import { describe, expect, test } from 'vitest'
import { piecesOf, readStream, type SeenStream } from '../../../../../test/support/http/read-stream.ts'

/** What a case expects; absent is none of it. A reply that fails says so with a part of the message. */
type Wanted = {
  text?: string
  texts?: string[]
  reasoning?: string
  calls?: [name: string, input: object][]
  finish?: string
} & {
  fails?: string
}
type Case = { name: string; stream: string; wanted: Wanted; choices?: number; contentType?: string }

const done = 'data: [DONE]\n\n'

/** A chunk as OpenAI writes it, with the fields of one choice. */
function chunk(delta: object, rest: object = {}): string {
  const choice = { index: 0, delta, logprobs: null, finish_reason: null, ...rest }
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] })
}

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function end(reason: string): string {
  return chunk({}, { finish_reason: reason })
}

/** A fragment of a call, as a delta. */
function fragment(index: number | undefined, fields: object, id?: string): object {
  return {
    tool_calls: [{ ...(index !== undefined && { index }), ...(id !== undefined && { id, type: 'function' }), function: fields }],
  }
}

const usage = event({
  id: 'chatcmpl-1',
  model: 'm',
  choices: [],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
})
const said = `${chunk({ role: 'assistant', content: '' })}${chunk({ content: 'Grüß' })}${chunk({ content: ' Gott 🌄' })}`
const whole = { text: 'Grüß Gott 🌄', finish: 'stop' }

/** Streams of our own making, each in the manner of a server or of something between it and us. */
const framing: Case[] = [
  { name: 'OpenAI: a role, texts, an end, a count', stream: `${said}${end('stop')}${usage}${done}`, wanted: whole },
  { name: 'lines that end with CRLF', stream: `${said}${end('stop')}${done}`.replaceAll('\n', '\r\n'), wanted: whole },
  { name: 'lines that end with CR', stream: `${said}${end('stop')}${done}`.replaceAll('\n', '\r'), wanted: whole },
  { name: 'no space after data:', stream: `${said}${end('stop')}${done}`.replaceAll('data: ', 'data:'), wanted: whole },
  { name: 'a byte order mark first', stream: `\ufeff${said}${end('stop')}${done}`, wanted: whole },
  {
    name: 'comments between the events, as routers send while they wait',
    stream: `: PROCESSING\n\n${said.replaceAll('\n\n', '\n\n: PROCESSING\n\n')}${end('stop')}:\n\n${done}`,
    wanted: whole,
  },
  {
    name: 'names, ids and retry times beside the data',
    stream: `${said}${end('stop')}${done}`.replaceAll('data: ', 'event: message\nid: 7\nretry: 10\ndata: '),
    wanted: whole,
  },
  {
    name: 'one event over several data lines',
    stream: `${said}data: {"choices":[{"index":0,"delta":{},\ndata: "finish_reason":"stop"}]}\n\n${done}`,
    wanted: whole,
  },
  { name: 'no [DONE], and the connection ends', stream: `${said}${end('stop')}${usage}`, wanted: whole },
  { name: 'a last event without its blank line after the end', stream: `${said}${end('stop')}data: [DONE]`, wanted: whole },
  { name: 'something after [DONE]', stream: `${said}${end('stop')}${done}${chunk({ content: 'late' })}`, wanted: whole },
  {
    name: 'vLLM: a count with every chunk, keys of its own',
    stream: [{ role: 'assistant', content: '' }, { content: 'Grüß' }, { content: ' Gott 🌄' }]
      .map((delta, at) =>
        event({
          choices: [{ index: 0, delta, token_ids: null, finish_reason: null, stop_reason: null }],
          usage: { prompt_tokens: 5, completion_tokens: at, total_tokens: 5 + at },
        }),
      )
      .concat(
        event({ choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop', stop_reason: null }], usage: null }),
        usage,
        done,
      )
      .join(''),
    wanted: whole,
  },
  {
    name: 'llama-server: null content first, the end with its timings',
    stream: `${chunk({ role: 'assistant', content: null })}${chunk({ content: 'Grüß Gott 🌄' })}${event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], timings: { prompt_n: 5, predicted_n: 2 } })}${done}`,
    wanted: whole,
  },
  {
    name: 'Azure: a first chunk of filter results, without a choice',
    stream: `${event({ id: '', model: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] })}${said}${end('stop')}${done}`,
    wanted: whole,
  },
  {
    name: 'Ollama: a role with every chunk, the end with empty content',
    stream: `${chunk({ role: 'assistant', content: 'Grüß' })}${chunk({ role: 'assistant', content: ' Gott 🌄' })}${chunk({ role: 'assistant', content: '' }, { finish_reason: 'stop' })}${done}`,
    wanted: whole,
  },
  {
    name: 'the text of the last chunk comes with its end',
    stream: `${chunk({ content: 'Grüß' })}${chunk({ content: ' Gott 🌄' }, { finish_reason: 'stop' })}${done}`,
    wanted: whole,
  },
  {
    name: 'one JSON body instead of a stream',
    stream: JSON.stringify({
      choices: [{ index: 0, message: { role: 'assistant', content: 'Grüß Gott 🌄' }, finish_reason: 'stop' }],
    }),
    contentType: 'application/json',
    wanted: whole,
  },
  {
    name: 'two choices, mixed',
    stream: `${chunk({ content: 'a' })}${chunk({ content: 'x' }, { index: 1 })}${chunk({ content: 'b' })}${chunk({ content: 'y' }, { index: 1, finish_reason: 'stop' })}${end('stop')}${done}`,
    choices: 2,
    wanted: { texts: ['ab', 'xy'], finish: 'stop' },
  },
  { name: 'a reply at its limit', stream: `${said}${end('length')}${done}`, wanted: { ...whole, finish: 'length' } },
]

const reasoning: Case[] = [
  {
    name: 'DeepSeek: reasoning_content beside null content',
    stream: `${chunk({ role: 'assistant', content: null, reasoning_content: 'Let' })}${chunk({ content: null, reasoning_content: ' me' })}${chunk({ content: 'Yes', reasoning_content: null })}${end('stop')}${done}`,
    wanted: { reasoning: 'Let me', text: 'Yes', finish: 'stop' },
  },
  {
    name: 'OpenRouter, vLLM: the field reasoning',
    stream: `${chunk({ content: '', reasoning: 'Let me' })}${chunk({ content: 'Yes' })}${end('stop')}${done}`,
    wanted: { reasoning: 'Let me', text: 'Yes', finish: 'stop' },
  },
  {
    name: 'both fields with the same text count once',
    stream: `${chunk({ reasoning: 'Let me', reasoning_content: 'Let me' })}${chunk({ content: 'Yes' })}${end('stop')}${done}`,
    wanted: { reasoning: 'Let me', text: 'Yes', finish: 'stop' },
  },
  {
    name: 'Mistral: thinking parts in the content',
    stream: `${chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me' }] }] })}${chunk({ content: [{ type: 'text', text: 'Yes' }] })}${end('stop')}${done}`,
    wanted: { reasoning: 'Let me', text: 'Yes', finish: 'stop' },
  },
]

const oslo = { city: 'Oslo 🌄' }
const calls: Case[] = [
  {
    name: 'OpenAI: a name, then its arguments in fragments',
    stream: `${chunk({ role: 'assistant', content: null, ...fragment(0, { name: 'f', arguments: '' }, 'c1') })}${chunk(fragment(0, { arguments: '{"city":"Os' }))}${chunk(fragment(0, { arguments: 'lo 🌄"}' }))}${end('tool_calls')}${done}`,
    wanted: { calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'two calls, their fragments mixed',
    stream: `${chunk(fragment(0, { name: 'f', arguments: '' }, 'c1'))}${chunk(fragment(1, { name: 'g', arguments: '{"n"' }, 'c2'))}${chunk(fragment(0, { arguments: '{"city":"Oslo 🌄"}' }))}${chunk(fragment(1, { arguments: ':1}' }))}${end('tool_calls')}${done}`,
    wanted: {
      calls: [
        ['f', oslo],
        ['g', { n: 1 }],
      ],
      finish: 'tool-calls',
    },
  },
  {
    name: 'Mistral, SGLang: whole calls in one chunk with the end',
    stream: `${chunk(
      {
        tool_calls: [
          { index: 0, id: 'c1', function: { name: 'f', arguments: '{"city":"Oslo 🌄"}' } },
          { index: 1, id: 'c2', function: { name: 'g', arguments: '{}' } },
        ],
      },
      { finish_reason: 'tool_calls' },
    )}${done}`,
    wanted: {
      calls: [
        ['f', oslo],
        ['g', {}],
      ],
      finish: 'tool-calls',
    },
  },
  {
    name: 'Ollama: a call that ends with stop',
    stream: `${chunk({ role: 'assistant', content: '', ...fragment(0, { name: 'f', arguments: '{"city":"Oslo 🌄"}' }, 'c1') })}${end('stop')}${done}`,
    wanted: { calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'text before a call',
    stream: `${chunk({ content: 'I look.' })}${chunk(fragment(0, { name: 'f', arguments: '{"city":"Oslo 🌄"}' }, 'c1'))}${end('tool_calls')}${done}`,
    wanted: { text: 'I look.', calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'reasoning before a call',
    stream: `${chunk({ reasoning_content: 'Hm.' })}${chunk(fragment(0, { name: 'f', arguments: '{"city":"Oslo 🌄"}' }, 'c1'))}${end('tool_calls')}${done}`,
    wanted: { reasoning: 'Hm.', calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'no id and no index',
    stream: `${chunk(fragment(undefined, { name: 'f', arguments: '{"city":"Oslo 🌄"}' }))}${end('tool_calls')}${done}`,
    wanted: { calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'the id and the name again with each fragment',
    stream: `${chunk(fragment(0, { name: 'f', arguments: '{"city":' }, 'c1'))}${chunk(fragment(0, { name: 'f', arguments: '"Oslo 🌄"}' }, 'c1'))}${end('tool_calls')}${done}`,
    wanted: { calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'arguments as an object',
    stream: `${chunk(fragment(0, { name: 'f', arguments: oslo }, 'c1'))}${end('tool_calls')}${done}`,
    wanted: { calls: [['f', oslo]], finish: 'tool-calls' },
  },
  {
    name: 'empty arguments of a call without parameters',
    stream: `${chunk(fragment(0, { name: 'f', arguments: '' }, 'c1'))}${end('tool_calls')}${done}`,
    wanted: { calls: [['f', {}]], finish: 'tool-calls' },
  },
]

const failures: Case[] = [
  { name: 'the connection ends in a reply', stream: said, wanted: { text: whole.text, fails: 'without saying' } },
  { name: 'the connection ends in an event', stream: `${said}data: {"choices":[{"ind`, wanted: { text: whole.text, fails: '' } },
  { name: '[DONE] without an end', stream: `${said}${done}`, wanted: { text: whole.text, fails: 'without saying' } },
  {
    name: 'an error event',
    stream: `${said}${event({ error: { message: 'the lamp went out', type: 'server_error' } })}`,
    wanted: { text: whole.text, fails: 'the lamp went out' },
  },
  {
    name: 'an error event by name, of plain text',
    stream: `${said}event: error\ndata: the lamp went out\n\n`,
    wanted: { text: whole.text, fails: '' },
  },
  {
    name: 'an error as a text',
    stream: `${said}${event({ error: 'the lamp went out' })}`,
    wanted: { text: whole.text, fails: 'the lamp went out' },
  },
  { name: 'an event that is no JSON', stream: `${said}data: <html>\n\n`, wanted: { text: whole.text, fails: '' } },
]

describe.each([
  ['framing', framing],
  ['reasoning', reasoning],
  ['calls', calls],
  ['failures', failures],
])('a stream of another server: %s', (_, cases) => {
  test.each(cases.flatMap((one) => [1, 7, 65_536].map((size) => ({ ...one, size }))))(
    '$name, in pieces of $size bytes',
    async ({ stream, size, wanted, choices = 1, contentType = 'text/event-stream' }) => {
      const seen = await readStream(piecesOf(Buffer.from(stream), size), { choices, contentType })
      expect(told(seen)).toEqual({
        texts: wanted.texts ?? (wanted.text === undefined ? [] : [wanted.text]),
        reasoning: wanted.reasoning ?? '',
        calls: wanted.calls ?? [],
        finish: wanted.finish,
        failed: wanted.fails !== undefined,
      })
      if (wanted.fails !== undefined) expect(seen.error?.message).toContain(wanted.fails)
    },
  )
})

function told({ texts, reasoning: thought, calls: made, finish, error }: SeenStream): object {
  const failed = error !== undefined
  const read = made.map((call) => [call.name, failed ? call.arguments : JSON.parse(call.arguments)])
  return { texts, reasoning: thought, calls: read, finish: finish[0], failed }
}
