import { describe, expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { iterate } from '../../test/support/http/iterate.ts'
import { shortUsage, stubEngine } from '../../test/support/upstream/stub-engine.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent } from '../contract/event.ts'
import { type GenerationRequest, plainChat, plainRequest } from '../contract/request.ts'
import { type GenerateDeps, generate } from './generate.ts'

const finish: EngineEvent = { type: 'finish', choice: 0, reason: 'stop' }
const request: GenerationRequest = {
  ...plainRequest,
  id: 'r',
  model: 'm',
  prompt: { type: 'text', text: 'x' },
  maxOutputTokens: 5000,
}

describe('a limit that the context has no room for', () => {
  const overflow = { inputTokens: 90, outputTokens: 5000, contextLength: 100 }
  const small = (end: EngineEvent = finish) => {
    const asked: (number | undefined)[] = []
    const engine = stubEngine({
      prepare: async ({ maxOutputTokens }) => {
        asked.push(maxOutputTokens)
        if ((maxOutputTokens ?? 1) > 10) throw new AppError('context-length-exceeded', 'too long', { overflow })
        return {
          run: async (_, emit) => {
            await emit(end)
            await emit(shortUsage)
          },
        }
      },
    })
    return { engine, asked }
  }
  const run = async (engine: Engine, fields: Partial<GenerationRequest>, deps: Partial<GenerateDeps> = {}) => {
    const events: GenerationEvent[] = []
    const generation = generate({ now: () => 0, ...deps }, [{ ...request, ...fields }], contextOf(engine))
    for await (const event of iterate(generation.run)) events.push(event)
    const [started, ...rest] = events
    return { started, rest }
  }

  test('the limit gives way, and the start says so; the context is what ends the output', async () => {
    const { engine, asked } = small({ ...finish, reason: 'length' })
    const { started, rest } = await run(engine, {})
    expect(asked).toEqual([5000, 10])
    expect(started).toMatchObject({ shortened: { asked: 5000, room: 10 } })
    expect(rest).toContainEqual({ type: 'finish', choice: 0, reason: 'context-full' })
  })

  test('the limit gives way silently when it is a default, even where the operator wants an error', async () => {
    const { engine, asked } = small()
    const { started } = await run(engine, { isMaxOutputAssumed: true }, { shortensOutput: false })
    expect(asked).toEqual([5000, 10])
    expect(started).not.toHaveProperty('shortened')
  })

  test('the limit does not limit the output beside media, which may have more tokens than were counted', async () => {
    const { engine, asked } = small()
    const source = { type: 'bytes', base64: 'AA==', sizeBytes: 1, sha256: '', mediaType: 'image/png' } as const
    const content = [{ type: 'media', kind: 'image', source } as const]
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content }] } as const
    const { started } = await run(engine, { prompt })
    expect(asked).toEqual([5000, undefined])
    expect(started).toMatchObject({ shortened: { room: 10 } })
  })

  test.each<[string, Partial<GenerationRequest>, Partial<GenerateDeps>]>([
    ['the operator wants that', {}, { shortensOutput: false }],
    ['the minimum is longer', { minOutputTokens: 20 }, {}],
    ['more room is wanted', {}, { leastRoom: 0.25 }],
  ])('the limit is refused when %s', async (_, fields, deps) => {
    const { engine, asked } = small()
    await expect(run(engine, fields, deps)).rejects.toMatchObject({ code: 'context-length-exceeded' })
    expect(asked).toEqual([5000])
  })

  describe('that only its server knows', () => {
    type Refusal = ConstructorParameters<typeof AppError>[2]
    /** Refuses more than ten tokens when it gets the request, as a server whose context is not known. */
    const server = (refusal: Refusal = { overflow }) => {
      const asked: (number | undefined)[] = []
      const engine = stubEngine({
        prepare: async ({ maxOutputTokens }) => ({
          keepsMinimum: true,
          run: async (_, emit) => {
            asked.push(maxOutputTokens)
            if ((maxOutputTokens ?? 8192) > 10) throw new AppError('invalid-request', 'too large', refusal)
            await emit({ ...finish, reason: 'length' })
            await emit(shortUsage)
          },
        }),
      })
      return { engine, asked }
    }

    test('the limit gives way as well, and the context is what ends the output', async () => {
      const { engine, asked } = server()
      const { rest } = await run(engine, {})
      expect(asked).toEqual([5000, 10])
      expect(rest).toContainEqual({ type: 'finish', choice: 0, reason: 'context-full' })
    })

    test('the limit gives way to the most that the server takes', async () => {
      const { engine, asked } = server({ mostOutputTokens: 9, overflow: { ...overflow, contextLength: 200 } })
      await run(engine, {})
      expect(asked).toEqual([5000, 9])
    })

    test('the limit that the server has for every output is an ordinary one', async () => {
      const { rest } = await run(server({ mostOutputTokens: 9 }).engine, {})
      expect(rest).toContainEqual({ type: 'finish', choice: 0, reason: 'length' })
    })

    test('the limit gives way where the request has none, and the server got another', async () => {
      const { engine, asked } = server({ mostOutputTokens: 9 })
      const { maxOutputTokens: _, ...unlimited } = request
      const generation = generate({ now: () => 0, shortensOutput: false }, [unlimited], contextOf(engine))
      for await (const event of iterate(generation.run)) expect(event).not.toMatchObject({ type: 'error' })
      expect(asked).toEqual([undefined, 9])
    })

    test('the limit is asked for once more only', async () => {
      const { engine, asked } = server({ mostOutputTokens: 4000 })
      await expect(run(engine, {})).rejects.toMatchObject({ message: 'too large' })
      expect(asked).toEqual([5000, 4000])
    })

    test.each<[string, Partial<GenerationRequest>, Partial<GenerateDeps>, Refusal]>([
      ['the operator wants that', {}, { shortensOutput: false }, { overflow }],
      ['the minimum is longer', { minOutputTokens: 20 }, {}, { overflow }],
      ['the prompt is too long itself', {}, {}, { overflow: { ...overflow, inputTokens: 100 } }],
      ['the server does not say what it takes', {}, {}, {}],
    ])('the limit is refused when %s', async (_, fields, deps, refusal) => {
      const { engine, asked } = server(refusal)
      await expect(run(engine, fields, deps)).rejects.toMatchObject({ message: 'too large' })
      expect(asked).toEqual([5000])
    })

    test('the limit stays where the output has begun', async () => {
      const asked: unknown[] = []
      const engine = stubEngine({
        prepare: async ({ maxOutputTokens }) => ({
          run: async (_, emit) => {
            asked.push(maxOutputTokens)
            await emit({ type: 'text-delta', choice: 0, delta: 'a' })
            throw new AppError('context-length-exceeded', 'too long', { overflow })
          },
        }),
      })
      const { rest } = await run(engine, {})
      expect(rest.at(-1)).toMatchObject({ type: 'error' })
      expect(asked).toEqual([5000])
    })
  })

  test('a request of which the engine has learned is prepared once more, as it was', async () => {
    const prepared: (number | undefined)[] = []
    const engine = stubEngine({
      prepare: async ({ maxOutputTokens }) => {
        const attempt = prepared.push(maxOutputTokens)
        return {
          run: async (_, emit) => {
            await emit({ type: 'prompt-read', inputTokens: 1, cachedInputTokens: 0 })
            if (attempt === 1) throw new AppError('upstream-failed', 'unread', { preparesAgain: true })
            await emit({ ...finish, reason: 'stop' })
            await emit(shortUsage)
          },
        }
      },
    })
    const { rest } = await run(engine, {})
    expect(rest).toContainEqual({ type: 'finish', choice: 0, reason: 'stop' })
    expect(prepared).toEqual([5000, 5000])
  })
})
