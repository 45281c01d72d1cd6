import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callsOf, textOf } from '../src/canonical/parts.ts'
import type { Message, OutputPart } from '../src/contract/request.ts'
import type { GenerationResult } from '../src/contract/result.ts'
import {
  type ConversationClient,
  chatClient,
  messagesClient,
  responsesClient,
  stackClient,
} from './support/http/conversation-clients.ts'
import { assistant, call, reasoning, text } from './support/parts.ts'

/** A turn of a conversation as it was: what the model wrote is in order. */
type WrittenTurn =
  | { readonly type: 'user'; readonly text: string }
  | { readonly type: 'assistant'; readonly parts: readonly OutputPart[] }
  | { readonly type: 'result'; readonly callId: string; readonly text: string }

const clients: Readonly<Record<string, () => ConversationClient>> = {
  'OpenAI chat completions': chatClient,
  'Anthropic Messages': messagesClient,
  'OpenAI Responses': responsesClient,
  'llama-stack': stackClient,
}
/** The protocols that keep the order of a turn's parts. */
const ordered = ['Anthropic Messages', 'OpenAI Responses']
/** Those that have no place for reasoning. */
const thoughtless = ['llama-stack']

const words = fc.string({
  minLength: 1,
  maxLength: 20,
  unit: fc.constantFrom('a', 'é', '雪', '🙂', ' ', '\n', '"', '\\', '<', '{'),
})
const visible = words.map((chars) => `${chars}.`)
const input = fc.dictionary(fc.constantFrom('a', 'b', 'c d'), fc.oneof(visible, fc.integer(), fc.boolean(), fc.constant(null)))
const part = fc.oneof(
  visible.map((chars) => text(chars)),
  visible.map((chars) => reasoning(chars)),
  input.map((value) => call('', 'f', JSON.stringify(value))),
)
/** Equal neighbours would be one block. */
const parts = fc
  .array(part, { minLength: 1, maxLength: 6 })
  .map((all) => all.filter(({ type }, index) => type === 'tool-call' || type !== all[index - 1]?.type))

const conversation = fc.array(fc.tuple(visible, parts, visible), { minLength: 1, maxLength: 4 }).map((rounds) => {
  let calls = 0
  return rounds.flatMap(([question, written, result]): WrittenTurn[] => {
    const named = written.map((one) => (one.type === 'tool-call' ? { ...one, id: `call_${calls++}` } : one))
    const results = callsOf(named).map(({ id }): WrittenTurn => ({ type: 'result', callId: id, text: result }))
    return [{ type: 'user', text: question }, { type: 'assistant', parts: named }, ...results]
  })
})

function resultOf(parts: readonly OutputPart[]): GenerationResult {
  const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }
  const reason = callsOf(parts).length > 0 ? 'tool-calls' : 'stop'
  return {
    start: { type: 'start', model: 'm', warnings: [] },
    choices: [{ parts, tokens: [], finish: { reason } }],
    usage,
    timings: {},
  }
}

function hold(turns: readonly WrittenTurn[], client: ConversationClient): readonly Message[] {
  for (const turn of turns) {
    if (turn.type === 'user') client.addUser(turn.text)
    else if (turn.type === 'result') client.addToolResult(turn.callId, turn.text)
    else client.addReply(resultOf(turn.parts))
  }
  return client.read()
}

function toMessage(turn: WrittenTurn): Message {
  if (turn.type === 'user') return { role: 'user', content: [text(turn.text)] }
  if (turn.type === 'assistant') return assistant(...turn.parts)
  return { role: 'tool', toolCallId: turn.callId, content: [text(turn.text)] }
}

/** What a protocol says that has one text, one thought and a list of calls for each turn. */
function unordered(message: Message): unknown {
  // llama-stack names the tool of a result, too.
  if (message.role !== 'assistant') return { ...message, name: undefined }
  const thoughts = message.parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))
  return { text: textOf(message.parts), thought: thoughts.join(''), calls: callsOf(message.parts) }
}

function withoutThoughts(message: Message): Message {
  if (message.role !== 'assistant') return message
  return { ...message, parts: message.parts.filter(({ type }) => type !== 'reasoning') }
}

describe('a conversation that a client keeps and sends back', () => {
  test.each(ordered)('reads as it was generated, in %s', (name) => {
    fc.assert(
      fc.property(conversation, (turns) => {
        expect(hold(turns, (clients[name] as () => ConversationClient)())).toEqual(turns.map(toMessage))
      }),
    )
  })

  test.each(Object.keys(clients))('says the same in %s as in all others, but for the order of a turn', (name) => {
    fc.assert(
      fc.property(conversation, (turns) => {
        const read = hold(turns, (clients[name] as () => ConversationClient)())
        const said = turns.map(toMessage).map(thoughtless.includes(name) ? withoutThoughts : (message) => message)
        expect(read.map(unordered)).toEqual(said.map(unordered))
      }),
    )
  })
})
