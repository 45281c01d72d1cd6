import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import { textsOf } from '../../../test/support/parts.ts'
import { answer, ask, fine, knownEngine, never, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf, usageChunk } from '../../../test/support/upstream/upstream.ts'
import { unlessLong } from '../../base/turn.ts'
import { Replicas } from './fleet/replicas.ts'
import type { SilentRequest } from './fleet/silence/silence.ts'
import { UpstreamClient } from './transport/client.ts'
import { ReplyBody } from './transport/http-exchange.ts'
import { UpstreamError } from './transport/upstream-error.ts'

/** Two servers, the first of which sends its bytes, and loses its request, when the test says so. */
async function silentServer(answerOfOther = fine) {
  const servers = [await upstream(fine, { ownedBy: 'vllm' }), await upstream(answerOfOther, { ownedBy: 'vllm' })]
  const engine = await knownEngine(servers)
  const first: { body?: ReplyBody; isRead?: true; request?: SilentRequest } = {}
  const stream = vi.spyOn(UpstreamClient.prototype, 'stream').mockImplementationOnce(async (_endpoint, _request, signal) => {
    const body = new ReplyBody(signal, () => undefined)
    const { consume } = body
    body.consume = (take) => {
      first.isRead = true
      return consume.call(body, take)
    }
    first.body = body
    return { status: 200, headers: {}, body }
  })
  const watch = vi.spyOn(Replicas.prototype, 'watch').mockImplementationOnce((request) => {
    first.request = request
    return { begun: () => undefined, ended: () => false }
  })
  onTestFinished(() => {
    stream.mockRestore()
    watch.mockRestore()
  })
  return {
    engine,
    isRead: () => until(() => first.isRead === true),
    send: (text: string) => first.body?.onBytes(Buffer.from(text)),
    lose: () => first.request?.end(new UpstreamError({ type: 'silent' }, 'the server fell silent')),
  }
}

test('bytes that wait for the end of a long turn are not read when the request has moved meanwhile', async () => {
  const { engine, isRead, send, lose } = await silentServer()
  const reply = answer(engine, ask('hi'))
  await isRead()
  void unlessLong()
  for (const beganMs = performance.now(); performance.now() - beganMs < 11; );
  send(chatChunk({ delta: { content: 'ok' } }))
  lose()
  expect(textsOf(await reply)).toEqual(['ok'])
})

test('another server continues a reply when the reader has taken what the first one sent', async () => {
  const rest = streamOf(chatChunk({ delta: { content: 'two' }, finish_reason: 'stop' }), usageChunk(4, 1), doneLine)
  const { engine, isRead, send, lose } = await silentServer(rest)
  const seen: string[] = []
  const { run } = await engine.prepare(ask('hi'), never)
  const reply = run(never, (event) => {
    if (event.type !== 'raw-text') return undefined
    seen.push(event.text)
    if (event.text !== 'One ') return undefined
    return new Promise<void>((resolve) => setTimeout(resolve, 100)).then(() => void seen.push('taken'))
  })
  await isRead()
  send(chatChunk({ delta: { content: 'One ' } }))
  lose()
  await reply
  expect(seen).toEqual(['One ', 'taken', 'two'])
})
