import { describe, expect, test } from 'vitest'
import type { CallOrigin } from '../../../contract/call-origin.ts'
import { type Message, type Prompt, plainChat } from '../../../contract/request.ts'
import { type CallHeaderOptions, callHeaders, type OutgoingCall } from './call-headers.ts'
import type { RouterKind } from './router-kinds.ts'

const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'tenant=x' }
const options: CallHeaderOptions = { router: 'auto', objectives: {}, hash: (text) => `#${text.length}:${text.slice(-4)}` }
const server = { url: 'http://10.0.0.1:8000/v1' }
const router = { ...server, isRouter: true } as const

function origin(given: Partial<CallOrigin> = {}): CallOrigin {
  return { id: 'chatcmpl-1', caller: 'team-a', trace, ...given }
}

function headers(given: Partial<OutgoingCall> = {}, more: Partial<CallHeaderOptions> = {}) {
  return callHeaders({ endpoint: server, kind: 'vllm', origin: origin(), ...given }, { ...options, ...more })
}

function chat(...texts: readonly string[]): Prompt {
  const messages = texts.map((text, index): Message => {
    const part = { type: 'text', text } as const
    if (index === 0) return { role: 'system', content: [part] }
    return index % 2 === 1 ? { role: 'user', content: [part] } : { role: 'assistant', parts: [part] }
  })
  return { type: 'chat', ...plainChat, messages }
}

describe('a server', () => {
  test("a server gets the request's id and the caller's trace", () => {
    expect(headers()).toEqual({ 'x-request-id': 'chatcmpl-1', ...trace })
    expect(headers({ origin: { id: 'a', caller: 'b' } })).toEqual({ 'x-request-id': 'a' })
  })

  test('never gets the same id twice for one request, since an engine may take it for its own', () => {
    const one = origin()
    const ids = [1, 2, 3].map(() => headers({ origin: one })['x-request-id'])
    expect(ids).toEqual(['chatcmpl-1', 'chatcmpl-1-2', 'chatcmpl-1-3'])
  })

  test.each<[string, Partial<OutgoingCall>]>([
    ['by its kind', { kind: 'anthropic' }],
    ['by its host', { endpoint: { url: 'https://api.openai.com/v1' }, kind: 'openai' }],
    ['also as a router', { endpoint: { url: 'https://api.groq.com/v1', isRouter: true }, kind: 'openai' }],
  ])('a server of a provider, known %s, gets no state of the trace, and nothing about the caller', (_, call) => {
    const { traceparent } = trace
    expect(headers({ ...call, prompt: chat('s', 'q') })).toEqual({ 'x-request-id': 'chatcmpl-1', traceparent })
  })
})

describe('a router', () => {
  const sent = (call: Partial<OutgoingCall>, more?: Partial<CallHeaderOptions>) => {
    const { 'x-request-id': _, traceparent: __, tracestate: ___, ...rest } = headers({ endpoint: router, ...call }, more)
    return rest
  }

  const session = { 'x-session-id': 'hash' }
  const key = { 'x-smg-routing-key': 'hash' }
  const flow = {
    'x-llm-d-inference-fairness-id': 'team-a',
    'x-gateway-inference-fairness-id': 'team-a',
    'x-llm-d-inference-objective': 'chat',
    'x-gateway-inference-objective': 'chat',
  }

  test.each<[RouterKind, Record<string, string>]>([
    ['auto', { ...session, ...key, ...flow }],
    ['llm-d', { ...session, ...flow }],
    ['vllm-router', session],
    ['sglang-router', key],
    ['smg', key],
    ['ray', session],
    ['dynamo', session],
    ['none', {}],
  ])('a router of kind %s gets %j', (kind, expected) => {
    const more = { router: kind, objectives: { interactive: 'chat' }, hash: () => 'hash' }
    expect(sent({ origin: origin({ session: 's' }) }, more)).toEqual(expected)
  })

  test('a router has one name for the turns of a conversation, and others for other conversations and callers', () => {
    const name = (prompt: Prompt, more: Partial<OutgoingCall> = {}) =>
      sent({ prompt, ...more }, { hash: (text) => text })['x-session-id']
    const first = name(chat('system', 'question'))
    expect(name(chat('system', 'question', 'answer', 'next question'))).toBe(first)
    expect(name(chat('system', 'another question'))).not.toBe(first)
    expect(name(chat('system', 'question'), { origin: origin({ caller: 'team-b' }) })).not.toBe(first)
  })

  test("prefers the caller's session, then its cache key, and never shows either", () => {
    const seen: string[] = []
    const hash = (text: string) => `h${seen.push(text)}`
    const prompt = chat('s', 'q')
    expect(
      sent({ prompt, forwarded: { promptCacheKey: 'k' }, origin: origin({ session: 'mine' }) }, { hash })['x-session-id'],
    ).toBe('h1')
    expect(sent({ prompt, forwarded: { promptCacheKey: 'k' } }, { hash })['x-session-id']).toBe('h2')
    expect(seen.map((text) => text.split('\n'))).toEqual([
      ['team-a', 'session mine'],
      ['team-a', 'key k'],
    ])
  })

  test('a router gets the objective of the lane, and a name of the caller that a header can hold', () => {
    const objectives = { interactive: 'chat', background: 'batch' }
    expect(sent({ origin: origin({ lane: 'background', caller: 'Zoë B\n' }) }, { router: 'llm-d', objectives })).toEqual({
      'x-llm-d-inference-fairness-id': 'Zo__B_',
      'x-gateway-inference-fairness-id': 'Zo__B_',
      'x-llm-d-inference-objective': 'batch',
      'x-gateway-inference-objective': 'batch',
    })
  })
})
