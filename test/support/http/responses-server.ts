import { textOf } from '../../../src/canonical/parts.ts'
import type { Engine } from '../../../src/contract/engine.ts'
import type { GenerationRequest } from '../../../src/contract/request.ts'
import { createFakeEngine } from '../../../src/engine/fake/engine.ts'
import { openTestStore } from '../test-store.ts'
import { openTestServer, receive, sendChat, type TestServerOptions, watchEngine } from './test-server.ts'

export type WireResponse = {
  readonly id: string
  readonly status: string
  readonly store: boolean
  readonly background: boolean
  readonly previous_response_id: string | null
  readonly error: { readonly code: string; readonly message: string } | null
  readonly output: readonly { readonly id: string; readonly type: string; readonly content?: readonly { text: string }[] }[]
}

/** A server with a store, whose engine records the conversations that it was given. */
export async function openResponsesServer({ engine, store, ...options }: Partial<TestServerOptions> = {}) {
  const seen: string[][] = []
  const watched = watchEngine(recording(engine ?? createFakeEngine({ script: 'from-request' }), seen))
  const kept = store ?? (await openTestStore())
  const server = openTestServer({ ...options, engine: watched.engine, store: kept })
  const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, body?: object, key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const reply = await server.app.inject({ method, url, headers, ...(body !== undefined && { payload: body }) })
    return { status: reply.statusCode, headers: reply.headers, text: reply.body, body: readBody(reply.body) }
  }
  return {
    ...server,
    store: kept,
    watched,
    /** Each conversation: a line `role: text` for each message. */
    seen,
    call,
    create: async (body: object, key?: string) => {
      const { body: response } = await call('POST', '/v1/responses', { model: 'default', ...body }, key)
      return response as WireResponse
    },
  }
}

/** Opens a stream over a real socket. */
export async function openStream(port: number, body: object) {
  const sent = JSON.stringify({ model: 'default', stream: true, ...body })
  const request = sendChat(port, sent, { path: '/v1/responses' })
  return { request, response: await receive(request) }
}

export type WireEvent = {
  readonly type: string
  readonly sequence_number: number
  readonly response?: WireResponse
  delta?: string
}

/** The events of a stream's text. */
export function eventsOf(text: string): readonly WireEvent[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? '') as WireEvent)
}

export function textOfResponse({ output }: WireResponse): string {
  return output
    .flatMap(({ content }) => content ?? [])
    .map(({ text }) => text)
    .join('')
}

function readBody(text: string): unknown {
  return text.startsWith('{') ? JSON.parse(text) : undefined
}

function recording(engine: Engine, seen: string[][]): Engine {
  return {
    ...engine,
    prepare: (request, signal) => {
      seen.push(linesOf(request))
      return engine.prepare(request, signal)
    },
  }
}

function linesOf({ prompt }: GenerationRequest): string[] {
  if (prompt.type !== 'chat') return []
  return prompt.messages.map(
    (message) => `${message.role}: ${textOf(message.role === 'assistant' ? message.parts : message.content)}`,
  )
}
