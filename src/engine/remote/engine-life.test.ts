import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/http/app.ts'
import { runOf } from '../../../test/support/http/iterate.ts'
import { textsOf } from '../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  failure,
  fine,
  never,
  refusing,
  upstream,
} from '../../../test/support/upstream/remote-engine.ts'
import { doneLine, startUpstream, streamOf } from '../../../test/support/upstream/upstream.ts'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'

describe('the edge of the engine', () => {
  const text = { type: 'text', text: 'hi' } as const
  const conversation = { reasoning: {}, addBos: false, parseSpecial: true } as const
  const chat = ask('hi').prompt as Extract<GenerationRequest['prompt'], { type: 'chat' }>

  test.each<[string, (engine: Engine) => Promise<unknown> | undefined]>([
    ['prepare', (engine) => answer(engine, ask('hi'))],
    ['tokenize', (engine) => engine.capabilities.tokenizer?.tokenize({ prompt: text, ...conversation }, never)],
    ['detokenize', (engine) => engine.capabilities.tokenizer?.detokenize({ tokens: [1], special: true }, never)],
    ['render', (engine) => engine.capabilities.tokenizer?.render({ prompt: chat, reasoning: {} }, never)],
    ['embed', (engine) => engine.capabilities.embedder?.embed([text], never)],
    ['rank', (engine) => engine.capabilities.ranker?.rank({ query: 'q', texts: ['a'] }, never)],
  ])('%s fails with an AppError whose cause is the failed exchange', async (_, call) => {
    const server = await upstream(refusing(400, '{"error":{"message":"not this"}}'), { ownedBy: 'llamacpp' })
    const error = await call(engineOver([server]))?.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({ code: 'invalid-request', message: 'not this' })
    expect((error as AppError).cause).toMatchObject({ failure: { type: 'status', status: 400 } })
  })

  test('ensureReady fails with the reason of the failed exchange', async () => {
    const gone = await startUpstream(streamOf(doneLine))
    await gone.close()
    const error = await engineOver([gone])
      .ensureReady(never)
      ?.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(AppError)
    expect(error).toMatchObject({ code: 'model-unavailable', message: expect.stringContaining('cannot be reached') })
  })
})

describe('closing and coming back', () => {
  test('closing during a probe ends it immediately, with the reason', async () => {
    const silent = await upstream(fine)
    silent.get = () => true
    const engine = engineOver([silent])
    const waiting = failure(engine)
    await until(() => silent.connections() === 1)
    await engine.close()
    expect(await waiting).toMatchObject({ code: 'model-unavailable' })
    expect(engine.state).toEqual({ type: 'stopped' })
    await until(() => silent.connections() === 0)
  })

  test('a request that was prepared before closing does not run afterwards', async () => {
    const server = await upstream(fine)
    const engine = engineOver([server])
    const prepared = await engine.prepare(ask('hi'), never)
    await engine.close()
    const run = async () => {
      for await (const event of runOf(prepared, never)) expect.unreachable(event.type)
    }
    await expect(run()).rejects.toMatchObject({ code: 'model-unavailable' })
    expect(server.seen).toHaveLength(0)
  })

  test('closing while a grammar is compiled does not blame the request', async () => {
    const engine = engineOver([await upstream(fine, { ownedBy: 'llamacpp' })])
    await engine.ensureReady(never)
    const preparing = engine.prepare(ask('hi', { output: { type: 'json-schema', schema: {}, strict: false } }), never)
    const [prepared] = await Promise.allSettled([preparing, engine.close()])
    expect(prepared).toMatchObject({ status: 'rejected', reason: { code: 'model-unavailable' } })
  })

  test('an engine is ready once its server has come back', async () => {
    const server = await upstream(fine)
    server.get = (_, response) => {
      response.writeHead(503)
      response.end()
      return true
    }
    const engine = engineOver([server])
    expect(await failure(engine)).toMatchObject({ code: 'model-unavailable' })
    expect(engine.state.type).toBe('failed')
    server.get = () => false
    await until(() => engine.state.type === 'ready')
    expect(textsOf(await answer(engine, ask('hi')))).toEqual(['ok'])
  })
})
