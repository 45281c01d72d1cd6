import type { Body, Fault, Got, Sent } from './faulty-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: replies of any form are edited here.
export type Json = any
export type Where = (sent: Sent) => boolean

export const chat: Where = ({ path }) => path === '/v1/chat/completions'
export const whole: Where = (sent) => chat(sent) && sent.body.stream !== true
export const streams: Where = (sent) => chat(sent) && sent.body.stream === true
export const at =
  (prefix: string): Where =>
  ({ path }) =>
    path.startsWith(prefix)

/** Edits the JSON of replies that were not refused. */
export const edit = (where: Where, change: (json: Json, sent: Sent) => unknown): Pick<Fault, 'answers'> => ({
  answers: (got, sent) => {
    if (!where(sent) || got.status !== 200 || !got.type.includes('application/json')) return got
    const json = JSON.parse(got.text)
    return { ...got, text: JSON.stringify(change(json, sent) ?? json) }
  },
})

/** Changes a value where it is. */
export const alter =
  (path: string, change: (old: Json, sent: Sent, index: number) => Json) =>
  (json: Json, sent?: Sent, index = 0): void => {
    const keys = path.split('.')
    const key = keys.pop() ?? ''
    const parent = keys.reduce((found, name) => found?.[name], json)
    if (parent?.[key] !== undefined && parent[key] !== null) parent[key] = change(parent[key], sent as Sent, index)
  }
export const put = (path: string, value: Json) => {
  const keys = path.split('.')
  const key = keys.pop() ?? ''
  return (json: Json): void => {
    const parent = keys.reduce((found, name) => found?.[name], json)
    if (parent !== undefined && parent !== null) parent[key] = value
  }
}

/** One event; `data` is its JSON, or a text that is sent as it is. */
export type Event = { name?: string; data: Json }
export const lines = (events: readonly Event[]) =>
  events
    .map(
      ({ name, data }) =>
        `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`,
    )
    .join('')
export const read = (text: string): Event[] =>
  text
    .split('\n\n')
    .filter((block) => block.includes('data:'))
    .map((block) => {
      const name = /^event: (.*)$/m.exec(block)?.[1]
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? ''
      return { ...(name !== undefined && { name }), data: data === '[DONE]' ? data : JSON.parse(data) }
    })

export const editStream = (
  where: Where,
  change: (events: Event[], sent: Sent) => readonly Event[] | undefined,
): Pick<Fault, 'answers'> => ({
  answers: (got, sent) => {
    if (!where(sent) || !got.type.includes('event-stream')) return got
    const events = read(got.text)
    return { ...got, text: lines(change(events, sent) ?? events) }
  },
})
export const each = (where: Where, change: (data: Json, sent: Sent, index: number) => void) =>
  editStream(where, (events, sent) => {
    for (const [index, { data }] of events.entries()) if (typeof data !== 'string') change(data, sent, index)
    return events
  })

/** What the correct server is asked in place of the request. */
export const asked = (where: Where, change: (body: Json, sent: Sent) => Body | undefined): Pick<Fault, 'asks'> => ({
  asks: (sent) => (where(sent) && sent.text !== '' ? change(structuredClone(sent.body), sent) : undefined),
})
export const without = (where: Where, ...names: readonly string[]) =>
  asked(where, (body) => {
    for (const name of names) delete body[name]
    return body
  })
export const refused = (where: Where, status = 400): Pick<Fault, 'answers'> => ({
  answers: (got, sent) =>
    where(sent)
      ? { status, type: 'application/json', text: '{"error":{"message":"Bad request","type":"invalid_request_error"}}' }
      : got,
})
export const failing = (status: number, change: Partial<Got> | ((got: Got) => Got)): Pick<Fault, 'answers'> => ({
  answers: (got) => (got.status !== status ? got : typeof change === 'function' ? change(got) : { ...got, ...change }),
})

export const fault = (finds: string, name: string, ...parts: readonly Partial<Fault>[]): Fault =>
  Object.assign({ finds, name }, ...parts)
export const last = (body: Json) => body.messages?.at(-1)
export const textParts = (where: Where, change: (parts: Json[]) => unknown) =>
  asked(where, (body) => {
    for (const message of body.messages ?? []) if (Array.isArray(message.content)) message.content = change(message.content)
    return body
  })
export const role = (name: string) =>
  asked(chat, (body) => ({
    ...body,
    messages: body.messages?.filter?.((message: Json) => message.role !== name) ?? body.messages,
  }))
export const isLong = ({ text }: Sent) => text.length > 5000
export const cutHead = (body: Json) => {
  const text: string = last(body).content
  return { ...body, messages: [{ role: 'user', content: text.slice(-4000) }] }
}
export const contentOf = (data: Json) => data.choices?.[0]?.delta?.content
export const textEvents = (events: readonly Event[]) => events.flatMap(({ data }, index) => (contentOf(data) ? [index] : []))
export const isTwo = (sent: Sent) => sent.body.n === 2
export const callsOf = (json: Json) => json.choices[0].message.tool_calls
export const editCalls = (change: (call: Json) => void) =>
  edit(whole, (json) => {
    for (const call of callsOf(json) ?? []) change(call)
  })
export const entries = (change: (list: Json[]) => unknown) =>
  edit(whole, (json) => {
    const { logprobs } = json.choices[0]
    if (logprobs?.content) logprobs.content = change(logprobs.content)
  })
export const responses = at('/v1/responses')
export const messages: Where = ({ path }) => path === '/v1/messages'
export const ollama = at('/api/chat')
export const embeddings = at('/v1/embeddings')
export const completions = at('/v1/completions')
