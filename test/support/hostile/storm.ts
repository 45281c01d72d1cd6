import { request } from 'node:http'

/** Numbers that look random, and are the same in each run. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** The protocols that generate, each with the body of a request and what ends its streams. */
export const generatingProtocols = [
  {
    path: '/v1/chat/completions',
    body: (text: string) => ({ messages: [{ role: 'user', content: text }], max_tokens: 24 }),
    idName: 'completion_id',
    end: /"finish_reason":"(stop|length)".*\[DONE\]/s,
  },
  {
    path: '/v1/completions',
    body: (text: string) => ({ prompt: text, max_tokens: 24 }),
    idName: 'completion_id',
    end: /"finish_reason":"(stop|length)".*\[DONE\]/s,
  },
  {
    path: '/v1/responses',
    body: (text: string) => ({ input: text, max_output_tokens: 24 }),
    idName: 'response_id',
    end: /response\.(completed|incomplete|cancelled)/,
  },
  {
    path: '/v1/messages',
    body: (text: string) => ({ messages: [{ role: 'user', content: text }], max_tokens: 24 }),
    idName: 'message_id',
    end: /message_stop/,
  },
  {
    path: '/v1/inference/chat-completion',
    body: (text: string) => ({
      messages: [{ role: 'user', content: text }],
      sampling_params: { strategy: { type: 'greedy' }, max_tokens: 24 },
    }),
    idName: undefined,
    end: /"event_type":"complete"/,
  },
] as const

/** A streamed request over its own connection. */
export type PostedStream = {
  readonly text: () => string
  readonly status: () => number | undefined
  readonly ended: Promise<void>
  hangUp(): void
}

export function postStream(url: string, body: object, headers: Record<string, string> = {}): PostedStream {
  let text = ''
  let status: number | undefined
  const sent = request(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json', ...headers } })
  const ended = new Promise<void>((resolve) => {
    sent.once('error', () => resolve())
    sent.once('response', (reply) => {
      status = reply.statusCode
      reply.setEncoding('utf8')
      reply.on('data', (piece: string) => {
        text += piece
      })
      reply.once('error', () => undefined)
      reply.once('close', resolve)
    })
  })
  sent.end(JSON.stringify(body))
  return { text: () => text, status: () => status, ended, hangUp: () => void sent.destroy() }
}

type AnyEvent = {
  readonly id?: string
  readonly type?: string
  readonly response?: { readonly id?: string }
  readonly message?: { readonly id?: string }
  readonly choices?: readonly { readonly text?: string; readonly delta?: { readonly content?: string | null } }[]
  readonly delta?: string | { readonly text?: string }
  readonly event?: { readonly delta?: { readonly text?: string } }
}

function eventsOf(stream: string): AnyEvent[] {
  const data = stream.split('\n\n').flatMap((event) => /^data: (\{.*\})$/m.exec(event)?.[1] ?? [])
  return data.map((json) => JSON.parse(json))
}

/** The id of a reply, in any of these protocols, once it is there. */
export function replyIdOf(stream: string): string | undefined {
  const [first] = eventsOf(stream.slice(0, stream.lastIndexOf('\n\n') + 2))
  return first?.response?.id ?? first?.message?.id ?? first?.id
}

/** What the model said, in any of these protocols. */
export function saidIn(stream: string): string {
  const said = eventsOf(stream).map(({ type, choices, delta, event }) => {
    if (choices !== undefined) return choices[0]?.text ?? choices[0]?.delta?.content ?? ''
    if (typeof delta === 'string') return type === 'response.output_text.delta' ? delta : ''
    return delta?.text ?? event?.delta?.text ?? ''
  })
  return said.join('')
}
