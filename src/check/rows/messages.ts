import { parseJson } from '../../base/json.ts'
import { callTokens, question, tools, user, words } from '../probe/asks.ts'
import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { anthropicError, faultOf, messageReply } from '../probe/forms.ts'
import { at, faultOfNames, listAt, numberAt, partsOf, textAt, usageIn } from '../probe/read.ts'
import {
  answered,
  finding,
  holds,
  moderate,
  noText,
  rowsOf,
  sameText,
  severe,
  short,
  unproven,
  type Verdict,
} from '../probe/row.ts'

const path = '/v1/messages'
export const messageBase = ({ model }: Pick<Server, 'model'>, more: object = {}): Ask => ({
  path,
  body: { model, messages: [user(question)], max_tokens: 24, temperature: 0, ...more },
})
const streamed = (server: Server, more: object = {}) => messageBase(server, { stream: true, ...more })
const anthropicTools = tools.map(({ function: { parameters, ...declared } }) => ({ ...declared, input_schema: parameters }))
const calling = {
  tools: anthropicTools,
  tool_choice: { type: 'any' },
  max_tokens: callTokens,
  messages: [user('What is the weather in Oslo?')],
}
const optional = { isOptional: true }

const textOf = (value: unknown) =>
  listAt(value, 'content')
    .map((block) => textAt(block, 'text') ?? '')
    .join('')

const ofStream = (judge: (parts: readonly unknown[], stream: Exchange) => Verdict | string | undefined, more: object = {}) =>
  answered(
    (server) => streamed(server, more),
    optional,
  )(([stream]) =>
    stream.events.length === 0
      ? 'the reply has no events'
      : judge(
          partsOf(stream).filter((part) => at(part, 'type') !== 'ping'),
          stream,
        ),
  )

/** What is wrong with the order of the events of a message. */
const faultOfOrder: (parts: readonly unknown[]) => string | undefined = (parts) => {
  const types = parts.map((part) => textAt(part, 'type') ?? '')
  if (types[0] !== 'message_start') return `it begins with ${types[0]}`
  if (types.at(-1) !== 'message_stop') return `it ends with ${types.at(-1)}`
  if (types.at(-2) !== 'message_delta') return `before its end is ${types.at(-2)}`
  let open: unknown
  let next = 0
  for (const part of parts.slice(1, -2)) {
    const [type, index] = [at(part, 'type'), at(part, 'index')]
    if (type === 'content_block_start') {
      if (open !== undefined) return `block ${index} starts before block ${open} stops`
      if (index !== next) return `block ${index} comes in place of block ${next}`
      open = index
      next += 1
    } else if (type === 'content_block_delta' || type === 'content_block_stop') {
      if (index !== open) return `${type} of block ${index} comes while ${open ?? 'none'} is open`
      if (type === 'content_block_stop') open = undefined
    }
  }
  return open === undefined ? undefined : `block ${open} does not stop`
}

export const messageRows = rowsOf('messages', {
  form: [
    severe('A message has an id, blocks, a stop reason and usage.', 'Claude Code, and every typed SDK'),
    answered((server) => messageBase(server))(([reply]) => faultOf(messageReply, reply.json)),
  ],
  limit: [
    severe(
      'A message that reaches `max_tokens` has that as its stop reason.',
      'agents, which else take a truncated reply for a complete one',
    ),
    answered((server) => messageBase(server, { max_tokens: 5 }))(([{ json }]) => {
      const count = numberAt(json, 'usage.output_tokens') ?? 0
      if (count > 5) return `${count} tokens were generated, and the limit is 5`
      if (count < 5) return unproven('the model writes less than the limit')
      return at(json, 'stop_reason') === 'max_tokens' ? undefined : `it is ${at(json, 'stop_reason')}`
    }),
  ],
  stop: [
    severe('A stop sequence ends the text; `stop_reason` and `stop_sequence` say that.', 'frameworks with text formats'),
    function* (server) {
      const free = yield messageBase(server)
      const word = /\s([a-z]{3,})[\s,.]/i.exec(textOf(free.json).slice(5))?.[1]
      if (word === undefined) return unproven('the model writes too little to stop it')
      const { json } = yield messageBase(server, { stop_sequences: [word] })
      if (textOf(json).includes(word)) return finding(`the text has the stop sequence ${word}: ${short(textOf(json))}`)
      if (!textOf(free.json).startsWith(textOf(json).slice(0, 5))) return unproven('the model writes something else each time')
      return at(json, 'stop_reason') === 'stop_sequence' && at(json, 'stop_sequence') === word
        ? holds
        : finding(`they are ${at(json, 'stop_reason')} and ${at(json, 'stop_sequence')}`)
    },
  ],
  system: [
    severe('`system` is read, as a text and as blocks.', 'Claude Code'),
    answered((server) => [
      messageBase(server),
      messageBase(server, { system: words(30) }),
      messageBase(server, { system: [{ type: 'text', text: words(30), cache_control: { type: 'ephemeral' } }] }),
    ])((replies) => {
      const [none = 0, text = 0, blocks = 0] = replies.map((reply) => inputOf(reply))
      return text - none >= 10 && blocks === text
        ? undefined
        : `the prompt has ${none} tokens without it, ${text} with a text, ${blocks} with a block`
    }),
  ],
  'event-names': [
    severe('The name of each event is its type.', 'the SDKs, which read `event:` lines'),
    ofStream((_, stream) => faultOfNames(stream)),
  ],
  order: [
    severe('A stream is a start, blocks that start, grow and stop one after the other, a delta and a stop.', 'Claude Code'),
    ofStream(faultOfOrder),
  ],
  start: [
    moderate('`message_start` has the message without content, and the tokens of the prompt.', 'agents that watch the context'),
    ofStream(([first]) => {
      if (textAt(first, 'message.id') === undefined || !Array.isArray(at(first, 'message.content')))
        return `it is ${short(JSON.stringify(first))}`
      return numberAt(first, 'message.usage.input_tokens') === undefined ? 'it has no usage' : undefined
    }),
  ],
  ending: [
    severe('`message_delta` has the stop reason and the tokens of the output.', 'agents'),
    ofStream((parts) => {
      const last = parts.findLast((part) => at(part, 'type') === 'message_delta')
      if (textAt(last, 'delta.stop_reason') === undefined) return 'it has no stop reason'
      const count = numberAt(last, 'usage.output_tokens')
      if (count === 0 && !parts.some((part) => textAt(part, 'delta.text'))) return noText
      return (count ?? 0) > 0 ? undefined : `its usage is ${JSON.stringify(at(last, 'usage'))}`
    }),
  ],
  'same-text': [
    severe('A stream has the text that a whole message has.', 'every user'),
    answered((server) => [messageBase(server), streamed(server)])(([whole, stream]) => {
      const found =
        stream === undefined
          ? ''
          : partsOf(stream)
              .map((part) => textAt(part, 'delta.text') ?? '')
              .join('')
      return sameText(textOf(whole.json), found)
    }),
  ],
  calls: [
    severe('With `tool_choice: any`, there is a `tool_use` block with an id and an object.', 'Claude Code'),
    answered(
      (server) => messageBase(server, calling),
      optional,
    )(([{ json }]) => {
      const call = listAt(json, 'content').find((block) => at(block, 'type') === 'tool_use')
      if (call === undefined)
        return at(json, 'stop_reason') === 'max_tokens'
          ? unproven('the limit of tokens came before the call')
          : 'there is no call'
      return at(json, 'stop_reason') === 'tool_use'
        ? faultOf(messageReply, json)
        : `the stop reason is ${at(json, 'stop_reason')}`
    }),
  ],
  'calls-streamed': [
    severe('The pieces of the input of a call, joined, are JSON.', 'Claude Code'),
    ofStream((parts) => {
      const starts = parts.flatMap((part) => (at(part, 'content_block.type') === 'tool_use' ? [at(part, 'index')] : []))
      if (starts.length === 0) return unproven('there is no call')
      const pieces = parts
        .filter((part) => at(part, 'index') === starts[0])
        .map((part) => textAt(part, 'delta.partial_json') ?? '')
      const text = pieces.join('')
      if (text === '') return 'the input is empty'
      return parseJson(text) === undefined ? `they are ${short(text)}` : undefined
    }, calling),
  ],
  count: [
    moderate('`count_tokens` counts what the message then uses.', 'Claude Code, which decides when to compact'),
    function* (server) {
      const { path: from, body } = messageBase(server)
      const { model, messages } = body as { model: string; messages: unknown }
      const counted = yield { path: `${from}/count_tokens`, body: { model, messages } }
      if (counted.status === 404 || counted.status === 405) return { outcome: 'absent', why: `refused with ${counted.status}` }
      const [wanted, found] = [inputOf(yield messageBase(server)), numberAt(counted.json, 'input_tokens')]
      return found !== undefined && Math.abs(found - wanted) <= 2
        ? holds
        : finding(`it counts ${found}, and the message uses ${wanted}`)
    },
  ],
  errors: [
    moderate('Errors are `{"type": "error", "error": {"type", "message"}}`.', 'the SDKs, which show them'),
    function* (server) {
      const reply = yield messageBase(server, { messages: 'Hello.' })
      if (reply.status < 400 || reply.status >= 500) return finding(`the server answers ${reply.status}`)
      const fault = faultOf(anthropicError, reply.json)
      return fault === undefined ? holds : finding(`${fault}: ${short(reply.text)}`)
    },
  ],
})

/** Tokens of the prompt, those of a cache included. */
function inputOf(reply: Exchange): number {
  const cached = ['cache_read_input_tokens', 'cache_creation_input_tokens'].map(
    (name) => numberAt(reply.json, `usage.${name}`) ?? 0,
  )
  return (usageIn(reply).input ?? 0) + cached.reduce((sum, one) => sum + one, 0)
}
