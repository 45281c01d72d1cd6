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

  test('gives way, and the start says so; the context is what ends the output', async () => {
    const { engine, asked } = small({ ...finish, reason: 'length' })
    const { started, rest } = await run(engine, {})
    expect(asked).toEqual([5000, 10])
    expect(started).toMatchObject({ shortened: { asked: 5000, room: 10 } })
    expect(rest).toContainEqual({ type: 'finish', choice: 0, reason: 'context-full' })
  })

  test('gives way silently when it is a default, even where the operator wants an error', async () => {
    const { engine, asked } = small()
    const { started } = await run(engine, { isMaxOutputAssumed: true }, { shortensOutput: false })
    expect(asked).toEqual([5000, 10])
    expect(started).not.toHaveProperty('shortened')
  })

  test('does not limit the output beside media, which may have more tokens than were counted', async () => {
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
  ])('is refused when %s', async (_, fields, deps) => {
    const { engine, asked } = small()
    await expect(run(engine, fields, deps)).rejects.toMatchObject({ code: 'context-length-exceeded' })
    expect(asked).toEqual([5000])
  })
})
