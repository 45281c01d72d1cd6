import { describe, expect, test } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import { image, textsOf } from '../../../../test/support/parts.ts'
import {
  answer,
  ask,
  engineOver,
  failure,
  fine,
  never,
  refusing,
  upstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, openStream, type ScriptedUpstream } from '../../../../test/support/upstream/upstream.ts'
import type { Engine } from '../../../contract/engine.ts'
import type { GenerationRequest } from '../../../contract/request.ts'

type Kind = { readonly contextLength: number; readonly readsImages?: boolean }

const countPath = '/v1/chat/completions/input_tokens'

/** A llama-server that makes a token of each character. */
async function llamaServer({ contextLength, readsImages }: Kind, generate: Answer = fine): Promise<ScriptedUpstream> {
  const server = await upstream(async (request, response) => {
    if (request.path === countPath) {
      // As the real one, which calls its own limits a failure.
      if (readsImages !== true) return refusing(500, '{"error":{"message":"image input is not supported"}}')(request, response)
      return void response.end(JSON.stringify({ input_tokens: 16 }))
    }
    if (request.path === '/apply-template')
      return void response.end(JSON.stringify({ prompt: JSON.stringify(request.body.messages) }))
    if (request.path !== '/tokenize') return generate(request, response)
    const tokens = Array.from(String(request.body.content), (_, index) => index)
    response.end(JSON.stringify({ tokens }))
  })
  const props = {
    default_generation_settings: { n_ctx: contextLength },
    ...(readsImages !== undefined && { modalities: { vision: readsImages, audio: false } }),
  }
  const answers: Readonly<Record<string, unknown>> = {
    '/v1/models': { data: [{ id: 'up', owned_by: 'llamacpp' }] },
    '/props': props,
  }
  server.get = (path, response) => {
    if (answers[path] === undefined) return false
    response.end(JSON.stringify(answers[path]))
    return true
  }
  return server
}

/** An engine that has probed all of these. */
async function over(servers: readonly ScriptedUpstream[], options: Parameters<typeof engineOver>[1] = {}): Promise<Engine> {
  const engine = engineOver(servers, options)
  await engine.ensureReady(never)
  await until(() => engine.capabilities.fleet?.replicas().every(({ found }) => found !== undefined) === true)
  return engine
}

const isGeneration = (path: string) => path.startsWith('/v1/') && path !== countPath

/** The number of generations of each. */
const generations = (...servers: readonly ScriptedUpstream[]) =>
  servers.map(({ seen }) => seen.filter(({ path }) => isGeneration(path)).length)

const long = ask('x'.repeat(1000))
const withImage = (): GenerationRequest => {
  const content = [image('AA==')]
  const request = ask('')
  if (request.prompt.type !== 'chat') throw new Error('a conversation was asked for')
  return { ...request, prompt: { ...request.prompt, messages: [{ role: 'user', content }] } }
}

describe('replicas with different contexts', () => {
  const small = { contextLength: 500 }
  const large = { contextLength: 4000 }

  test('the model has the longest context', async () => {
    const engine = await over([await llamaServer(small), await llamaServer(large)])
    expect(engine.facts).toMatchObject({ contextLength: 4000 })
  })

  test.each(['first', 'last'])('a prompt too long for one replica goes to the other: the small one %s', async (place) => {
    const servers = [await llamaServer(small), await llamaServer(large)] as const
    const engine = await over(place === 'first' ? servers : servers.toReversed())
    for (let turn = 0; turn < 4; turn++) expect(textsOf(await answer(engine, long))).toEqual(['ok'])
    expect(generations(...servers)).toEqual([0, 4])
    expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ state: 'healthy' }, { state: 'healthy' }])
  })

  test('so does each choice where a replica makes one per request', async () => {
    const servers = [await llamaServer(small), await llamaServer(large)] as const
    const engine = await over(servers)
    const greedy = { ...long, choices: 3, sampling: { ...long.sampling, temperature: 0 } }
    expect((await answer(engine, greedy)).choices).toHaveLength(3)
    expect(generations(...servers)).toEqual([0, 3])
  })

  test('the output limit counts', async () => {
    const servers = [await llamaServer(small), await llamaServer(large)] as const
    const engine = await over(servers)
    await answer(engine, { ...ask('hi'), maxOutputTokens: 3000 })
    expect(generations(...servers)).toEqual([0, 1])
  })

  test('a broken reply is continued by a replica that holds its length so far', async () => {
    let turns = 0
    const breakingOnce: Answer = (request, response) => {
      turns += 1
      if (turns !== 2) return fine(request, response)
      openStream(response)
      response.write(chatChunk({ delta: { content: 'x ' } }).repeat(200), () => response.destroy())
    }
    const servers = [await llamaServer(small), await llamaServer(large, breakingOnce)] as const
    const engine = await over(servers)
    const prompt = ask('x'.repeat(400))
    await answer(engine, { ...prompt, maxOutputTokens: 3000 })
    // By affinity the prompt goes to the large one again; alone it would fit into the small one.
    expect(textsOf(await answer(engine, prompt))).toEqual([`${'x '.repeat(200)}ok`])
    expect(generations(...servers)).toEqual([0, 3])
  })

  test('a prompt too long for all is refused with the longest context, and not sent', async () => {
    const servers = [await llamaServer(small), await llamaServer(large), await llamaServer({ contextLength: 800 })]
    const engine = await over(servers)
    const refused = await failure(engine, ask('x'.repeat(5000)))
    expect(refused).toMatchObject({ code: 'context-length-exceeded', overflow: { contextLength: 4000 } })
    expect(generations(...servers)).toEqual([0, 0, 0])
  })

  test('what surely fits everywhere is not counted', async () => {
    const servers = [await llamaServer({ contextLength: 3000 }), await llamaServer(large)]
    await answer(await over(servers), ask('hi', { maxOutputTokens: 5 }))
    expect(servers.flatMap(({ seen }) => seen.map(({ path }) => path))).toEqual(['/v1/chat/completions'])
  })

  test('the configured context holds for all replicas', async () => {
    const servers = [await llamaServer(small), await llamaServer(large)]
    const engine = await over(servers, { contextLength: 600 })
    expect(engine.facts).toMatchObject({ contextLength: 600 })
    expect(await failure(engine, long)).toMatchObject({ overflow: { contextLength: 600 } })
  })
})

describe('replicas of which not all read images', () => {
  const blind = { contextLength: 100_000, readsImages: false }
  const seeing = { contextLength: 100_000, readsImages: true }

  test('images go to the replica that reads them', async () => {
    const servers = [await llamaServer(blind), await llamaServer(seeing)] as const
    const engine = await over(servers)
    expect(engine.facts).toMatchObject({ modalities: { image: true, audio: false } })
    for (let turn = 0; turn < 4; turn++) await answer(engine, withImage())
    expect(generations(...servers)).toEqual([0, 4])
    const [sent] = servers[1].seen.filter(({ path }) => isGeneration(path))
    expect(sent?.body.messages).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
    ])
  })

  test('their tokens are counted by a replica that reads them', async () => {
    const servers = [await llamaServer(blind), await llamaServer(seeing)] as const
    const engine = await over(servers)
    for (let turn = 0; turn < 4; turn++) expect(await engine.prepare(withImage(), never)).toMatchObject({ inputTokens: 16 })
    expect(servers.map(({ seen }) => seen.length)).toEqual([0, 4])
  })

  test('where none does, the part is refused by its path', async () => {
    const engine = await over([await llamaServer(blind), await llamaServer(blind)])
    const refused = { code: 'unsupported-field', at: ['prompt', 'messages', 0, 'content', 0] }
    expect(await failure(engine, withImage())).toMatchObject(refused)
  })

  test('a context that is too small does not hide that another replica cannot read images', async () => {
    const engine = await over([await llamaServer({ contextLength: 300, readsImages: true }), await llamaServer(blind)])
    const request = withImage()
    expect(await failure(engine, { ...request, maxOutputTokens: 1000 })).toMatchObject({ code: 'unsupported-field' })
  })
})
