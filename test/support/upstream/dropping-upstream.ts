import { callBlock, messageEnd, messageStart, textBlock } from './messages-stream.ts'
import { callItem, itemOf, responseEnd, responsesEvent } from './responses-stream.ts'
import { type Answer, chatChunk, doneLine, type SeenRequest, streamOf, usageChunk } from './upstream.ts'

type Body = Readonly<Record<string, unknown>>

/** The names of fields that say the same, in all protocols and kinds. */
const constraints = ['response_format', 'structured_outputs', 'regex', 'ebnf', 'grammar', 'text', 'output_config']
const limits = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']
const stops = ['stop', 'stop_sequences']

type Reply = {
  readonly pieces: readonly string[]
  readonly call: boolean
  readonly finish: 'stop' | 'length'
  readonly scores: boolean
}

/**
 * An upstream that honours every field of a request but those in `dropped`, of which it says nothing, as routers do that parse bodies into
 * types of their own. It writes `conforming` under a constraint, and else `prose`, each of its words with a space in front as a token.
 */
export function droppingUpstream({ conforming, prose }: { readonly conforming: string; readonly prose: string }) {
  const state: { dropped: readonly string[]; conforming: string } = { dropped: [], conforming }
  const answer: Answer = ({ path, body: sent }, response) => {
    const body = Object.fromEntries(Object.entries(sent).filter(([name]) => !state.dropped.includes(name)))
    const given = (names: readonly string[]) => names.map((name) => body[name]).find((value) => value !== undefined)
    const choice = body.tool_choice
    const call = choice !== undefined && choice !== 'auto' && (choice as { type?: unknown }).type !== 'auto'
    const words = (given(constraints) === undefined ? prose : state.conforming).split(/(?= )/)
    const ends = [given(stops) ?? []].flat() as string[]
    const end = words.findIndex((word) => ends.some((text) => word.includes(text)))
    const limit = Number(given(limits) ?? Number.POSITIVE_INFINITY)
    const pieces = words.slice(0, Math.min(limit, end === -1 ? words.length : end))
    const finish = pieces.length < words.length && pieces.length === limit ? 'length' : 'stop'
    const scores = body.logprobs !== undefined || body.top_logprobs !== undefined
    return streamOf(...writers[protocolOf(path)]({ pieces, call, finish, scores }))({ path, body, method: 'POST' }, response)
  }
  return { state, answer }
}

function protocolOf(path: SeenRequest['path']): keyof typeof writers {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (name === 'messages' || name === 'responses') return name
  return path.endsWith('/chat/completions') ? 'chat' : 'completions'
}

const score = (token: string): Body => ({ token, logprob: -0.5, bytes: [...Buffer.from(token)], top_logprobs: [] })

function written(delta: string, scores: boolean) {
  return ['response.output_text.delta', { content_index: 0, delta, logprobs: scores ? [score(delta)] : [] }] as const
}

/** How each protocol writes a reply. */
const writers = {
  chat: ({ pieces, call, finish, scores }: Reply) => [
    ...(call
      ? [chatChunk({ delta: { tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }] } })]
      : pieces.map((content) => chatChunk({ delta: { content }, ...(scores && { logprobs: { content: [score(content)] } }) }))),
    chatChunk({ delta: {}, finish_reason: call ? 'tool_calls' : finish }),
    usageChunk(3, pieces.length),
    doneLine,
  ],
  completions: ({ pieces, finish, scores }: Reply) => [
    ...pieces.map((text) =>
      chatChunk({ text, ...(scores && { logprobs: { tokens: [text], token_logprobs: [-0.5], top_logprobs: [{}] } }) }),
    ),
    chatChunk({ text: '', finish_reason: finish }),
    usageChunk(3, pieces.length),
    doneLine,
  ],
  messages: ({ pieces, call, finish }: Reply) => [
    messageStart,
    call ? callBlock(0, 'c1', 'f', '{}') : textBlock(0, ...pieces),
    messageEnd(call ? 'tool_use' : finish === 'length' ? 'max_tokens' : 'end_turn', { output_tokens: pieces.length }),
  ],
  responses: ({ pieces, call, finish, scores }: Reply) => [
    responsesEvent('response.created', { response: { status: 'in_progress' } }),
    call
      ? callItem(0, 'c1', 'f', '{}')
      : itemOf(
          0,
          { type: 'message', content: [] },
          pieces.map((delta) => written(delta, scores)),
        ),
    finish === 'length'
      ? responseEnd('incomplete', { incomplete_details: { reason: 'max_output_tokens' } })
      : responseEnd('completed'),
  ],
} satisfies Record<string, (reply: Reply) => readonly string[]>
