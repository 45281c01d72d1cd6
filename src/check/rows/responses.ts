import { parseJson } from '../../base/json.ts'
import { again, callTokens, question, tools, words } from '../probe/asks.ts'
import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { faultOf, openaiError, response } from '../probe/forms.ts'
import { at, faultOfNames, listAt, numberAt, partsOf, textAt, usageIn } from '../probe/read.ts'
import {
  absent,
  answered,
  finding,
  holds,
  moderate,
  noText,
  type Row,
  readsMore,
  rowsOf,
  severe,
  short,
  slight,
  unanswered,
  unproven,
  type Verdict,
} from '../probe/row.ts'

const path = '/v1/responses'
export const responseBase = ({ model }: Pick<Server, 'model'>, more: object = {}): Ask => ({
  path,
  body: { model, input: question, max_output_tokens: 24, temperature: 0, ...more },
})
const streamed = (server: Server, more: object = {}) => responseBase(server, { stream: true, ...more })
const flat = tools.map(({ function: declared }) => ({ type: 'function', ...declared }))
const optional = { isOptional: true }

const output = (value: unknown, type: string) => listAt(value, 'output').filter((item) => at(item, 'type') === type)
const textOf = (value: unknown) =>
  output(value, 'message')
    .flatMap((item) => listAt(item, 'content'))
    .map((part) => textAt(part, 'text') ?? '')
    .join('')

const ofStream = (judge: (parts: readonly unknown[], stream: Exchange) => Verdict | string | undefined) =>
  answered((server) => streamed(server))(([stream]) =>
    stream.events.length === 0 ? 'the reply has no events' : judge(partsOf(stream), stream),
  )

const afterCall = (result: string) => ({
  input: [
    { role: 'user', content: 'Look.' },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: result },
  ],
})

const named = (parts: readonly unknown[], type: string) => parts.filter((part) => at(part, 'type') === type)
const ends = /^response\.(completed|incomplete|failed)$/

/** A response that is kept, then another request about it. */
function stored(
  next: (id: string, server: Server) => readonly Ask[],
  judge: (replies: readonly Exchange[], first: Exchange) => Verdict | string | undefined,
): Row['steps'] {
  return function* (server) {
    const first = yield responseBase(server, { store: true })
    const problem = unanswered(first, optional)
    if (problem !== undefined) return problem
    const id = textAt(first.json, 'id')
    if (id === undefined) return finding('the response has no id')
    const replies: Exchange[] = []
    for (const ask of next(id, server)) replies.push(yield ask)
    const verdict = judge(replies, first)
    return typeof verdict === 'string' ? finding(verdict) : (verdict ?? holds)
  }
}

export const responseRows = rowsOf('responses', {
  form: [
    severe('A response has an id, a status, items and usage.', 'Codex, and every typed SDK'),
    answered((server) => responseBase(server))(([reply]) => faultOf(response, reply.json)),
  ],
  limit: [
    severe(
      'A response that reaches `max_output_tokens` is `incomplete`, and says why.',
      'agents, which else take a truncated reply for a complete one',
    ),
    answered((server) => responseBase(server, { max_output_tokens: 16 }))(([{ json }]) => {
      const count = numberAt(json, 'usage.output_tokens')
      if (count !== undefined && count > 16) return `${count} tokens were generated, and the limit is 16`
      if (count === undefined || count < 16) return unproven('the model writes less than the limit')
      const reason = at(json, 'incomplete_details.reason')
      return at(json, 'status') === 'incomplete' && reason === 'max_output_tokens'
        ? undefined
        : `the status is ${at(json, 'status')}, the reason ${reason}`
    }),
  ],
  instructions: [
    severe('`instructions` are read.', 'Codex, whose system prompt they are'),
    readsMore(responseBase, [{}, { instructions: words(40) }], 15),
  ],
  'event-names': [
    severe('The name of each event is its type.', 'clients that read `event:` lines'),
    ofStream((_, stream) => faultOfNames(stream)),
  ],
  sequence: [
    moderate('`sequence_number` begins with 0 and grows by 1.', 'clients that find a stream again'),
    ofStream((parts) => {
      const numbers = parts.map((part) => at(part, 'sequence_number'))
      const odd = numbers.findIndex((value, index) => value !== index)
      return odd === -1 ? undefined : `event ${odd} has ${numbers[odd]}`
    }),
  ],
  order: [
    severe('A stream begins with `response.created` and ends with the whole response.', 'Codex'),
    ofStream((parts) => {
      const [first, last] = [textAt(parts[0], 'type'), textAt(parts.at(-1), 'type')]
      if (first !== 'response.created') return `it begins with ${first}`
      return ends.test(last ?? '') ? undefined : `it ends with ${last}`
    }),
  ],
  items: [
    severe('Each item of a stream is added and done, with the same index and id.', 'Codex'),
    ofStream((parts) => {
      const keys = (type: string) => named(parts, type).map((part) => `${at(part, 'output_index')} ${at(part, 'item.id')}`)
      const [added, done] = [keys('response.output_item.added'), keys('response.output_item.done')]
      if (added.length === 0) return 'no item is added'
      return added.join() === done.join() ? undefined : `added: ${added.join('; ')}, done: ${done.join('; ')}`
    }),
  ],
  deltas: [
    severe('The deltas of a text, joined, are its done event and its part of the response.', 'everyone who reads the stream'),
    ofStream((parts) => {
      const joined = named(parts, 'response.output_text.delta')
        .map((part) => textAt(part, 'delta'))
        .join('')
      const done = named(parts, 'response.output_text.done')
        .map((part) => textAt(part, 'text'))
        .join('')
      const whole = textOf(at(parts.at(-1), 'response'))
      if (joined === '' && whole === '') return noText
      return joined === done && joined === whole
        ? undefined
        : `deltas ${JSON.stringify(short(joined))}, done ${JSON.stringify(short(done))}, response ${JSON.stringify(short(whole))}`
    }),
  ],
  ending: [
    moderate('The last event has the usage, and the status of its name.', 'agents that watch the context'),
    ofStream((parts) => {
      const last = parts.at(-1)
      if (`response.${at(last, 'response.status')}` !== at(last, 'type'))
        return `${at(last, 'type')} has the status ${at(last, 'response.status')}`
      return numberAt(last, 'response.usage.output_tokens') === undefined ? 'it has no usage' : undefined
    }),
  ],
  calls: [
    severe('With `tool_choice: required`, a `function_call` has a `call_id` and JSON.', 'Codex'),
    answered(
      (server) =>
        responseBase(server, {
          tools: flat,
          tool_choice: 'required',
          max_output_tokens: callTokens,
          input: 'What is the weather in Oslo?',
        }),
      optional,
    )(([{ json }]) => {
      const [call] = output(json, 'function_call')
      if (call === undefined)
        return at(json, 'status') === 'incomplete' ? unproven('the limit of tokens came before the call') : 'there is no call'
      const text = textAt(call, 'arguments') ?? ''
      return parseJson(text) === undefined ? `the arguments are ${short(text)}` : undefined
    }),
  ],
  schema: [
    severe('With a JSON Schema in `text.format`, the text is JSON.', 'programs that parse replies'),
    answered(
      (server) =>
        responseBase(server, {
          max_output_tokens: callTokens,
          text: {
            format: {
              type: 'json_schema',
              name: 'answer',
              strict: true,
              schema: {
                type: 'object',
                properties: { zq: { type: 'string', enum: ['ÿ-1'] } },
                required: ['zq'],
                additionalProperties: false,
              },
            },
          },
        }),
      optional,
    )(([{ json }]) =>
      textOf(json).replace(/\s/g, '') === '{"zq":"ÿ-1"}' || at(json, 'status') === 'incomplete'
        ? undefined
        : `the text is ${JSON.stringify(short(textOf(json)))}`,
    ),
  ],
  'tool-results': [
    severe('The output of a call is read.', 'Codex'),
    readsMore(responseBase, [afterCall('One.'), afterCall(words(20))], 15),
  ],
  previous: [
    severe('`previous_response_id` continues the conversation: the model reads it.', 'clients that send only what is new'),
    stored(
      (id, server) => [responseBase(server, { previous_response_id: id })],
      ([next], first) => {
        const problem = next && unanswered(next, optional)
        if (problem !== undefined) return problem
        const [few = 0, many = 0] = [usageIn(first).input, next && usageIn(next).input]
        return many > few + 5 ? undefined : `the first prompt has ${few} tokens, the next ${many}`
      },
    ),
  ],
  stored: [
    moderate('A response that is stored can be read again, and deleted.', 'clients that find a response again'),
    stored(
      (id) => [
        { path: `${path}/${id}` },
        { path: `${path}/${id}`, method: 'DELETE' },
        { path: `${path}/${id}`, take: 'deleted' },
      ],
      ([read, deleted, after], first) => {
        if (read === undefined || [404, 405, 501].includes(read.status))
          return absent(`reading it is refused with ${read?.status}`)
        if (textOf(read.json) !== textOf(first.json))
          return `its text is ${JSON.stringify(short(textOf(read.json)))}, and was ${JSON.stringify(short(textOf(first.json)))}`
        if (deleted?.status !== 200) return `deleting it is refused with ${deleted?.status}`
        return after?.status === 404 ? undefined : `after it was deleted, reading it answers ${after?.status}`
      },
    ),
  ],
  'not-stored': [
    severe('With `store: false`, the response is not kept.', 'those who must not keep data'),
    function* (server) {
      const first = yield responseBase(server, { store: false })
      const problem = unanswered(first, optional)
      if (problem !== undefined) return problem
      const { status } = yield { path: `${path}/${textAt(first.json, 'id')}` }
      return status === 200 ? finding('it can be read again') : holds
    },
  ],
  unknown: [
    moderate('An unknown `previous_response_id` is refused.', 'clients, whose conversation would begin anew in silence'),
    function* (server) {
      const reply = yield responseBase(server, { previous_response_id: 'resp_nobody_made_this' })
      if (reply.status < 400) return finding('it is accepted')
      const fault = faultOf(openaiError, reply.json)
      return reply.status >= 500 || fault !== undefined
        ? finding(`the server answers ${reply.status}: ${short(reply.text)}`)
        : holds
    },
  ],
  ids: [
    moderate('Each response has an id of its own.', 'stores of responses'),
    answered((server) => [responseBase(server), again(responseBase(server))])(([one, two]) =>
      at(one.json, 'id') === at(two?.json, 'id') ? `two responses have the id ${at(one.json, 'id')}` : undefined,
    ),
  ],
  socket: [
    slight(
      'Over a WebSocket, `response.create` starts a response, and the next one continues it.',
      'Codex, which prefers sockets',
    ),
    function* ({ model }) {
      const create = (more: object) => ({ type: 'response.create', model, max_output_tokens: 16, input: 'Hello.', ...more })
      const reply = yield { path, socket: [create({ store: false }), create({ store: false, previous_response_id: 'LAST' })] }
      if (reply.status === 404) return absent(reply.text)
      if (reply.failure !== undefined) return finding(reply.failure)
      const parts = partsOf(reply)
      const created = named(parts, 'response.created').length
      const ended = parts.filter((part) => ends.test(textAt(part, 'type') ?? ''))
      if (ended.length < 2)
        return finding(`of two responses, ${created} begin and ${ended.length} end: ${short(JSON.stringify(parts.at(-1)))}`)
      const [few = 0, many = 0] = ended.map((part) => numberAt(part, 'response.usage.input_tokens'))
      return many > few ? holds : finding(`the first prompt has ${few} tokens, the next ${many}`)
    },
  ],
})
