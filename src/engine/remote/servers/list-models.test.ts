import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { type ScriptedUpstream, startUpstream } from '../../../../test/support/upstream/upstream.ts'
import { createModelLister } from '../list-models.ts'

const { signal } = new AbortController()
let upstream: ScriptedUpstream | undefined
afterEach(() => upstream?.close())

/** A server that answers `GET` of these paths, and 404 to all others. */
async function serve(replies: Readonly<Record<string, unknown>>): Promise<string> {
  upstream = await startUpstream(() => undefined)
  upstream.get = (path, response: ServerResponse) => {
    const reply = replies[path]
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply ?? { error: 'there is nothing' }))
    return true
  }
  return upstream.url
}

async function list(replies: Readonly<Record<string, unknown>>) {
  const lister = createModelLister({ url: await serve(replies) })
  try {
    return await lister.list(signal)
  } finally {
    await lister.close()
  }
}

const openaiList = (...data: object[]) => ({ '/v1/models': { object: 'list', data } })

describe('the list of', () => {
  test("OpenAI's list names the models", async () => {
    const entry = { id: 'gpt-4o-mini', object: 'model', created: 1721172741, owned_by: 'system' }
    expect(await list(openaiList(entry))).toEqual([{ id: 'gpt-4o-mini', ownedBy: 'system', createdAtMs: 1721172741000 }])
  })

  test("Ollama's list names the models", async () => {
    const entry = { id: 'qwen3:8b', object: 'model', created: 1745954000, owned_by: 'library' }
    expect(await list(openaiList(entry))).toEqual([{ id: 'qwen3:8b', ownedBy: 'library', createdAtMs: 1745954000000 }])
  })

  test('vLLM with a LoRA adapter', async () => {
    const base = {
      id: 'Qwen/Qwen3-8B',
      object: 'model',
      created: 1750000000,
      owned_by: 'vllm',
      root: 'Qwen/Qwen3-8B',
      parent: null,
      max_model_len: 40960,
      permission: [],
    }
    const lora = { ...base, id: 'sql', root: '/lora/sql', parent: 'Qwen/Qwen3-8B', max_model_len: null }
    expect(await list(openaiList(base, lora))).toEqual([
      { id: 'Qwen/Qwen3-8B', ownedBy: 'vllm', createdAtMs: 1750000000000, contextLength: 40960 },
      { id: 'sql', ownedBy: 'vllm', createdAtMs: 1750000000000 },
    ])
  })

  test('LM Studio, which describes its models in another list', async () => {
    const plain = (id: string) => ({ id, object: 'model', owned_by: 'organization_owner' })
    const described = { object: 'model', state: 'not-loaded', publisher: 'p', quantization: '4bit' }
    const replies = {
      ...openaiList(plain('qwen2-vl-7b-instruct'), plain('text-embedding-nomic-embed-text-v1.5'), plain('new')),
      '/api/v0/models': {
        object: 'list',
        data: [
          { id: 'qwen2-vl-7b-instruct', type: 'vlm', max_context_length: 32768, ...described },
          { id: 'text-embedding-nomic-embed-text-v1.5', type: 'embeddings', max_context_length: 2048, ...described },
        ],
      },
    }
    const ownedBy = 'organization_owner'
    expect(await list(replies)).toEqual([
      { id: 'qwen2-vl-7b-instruct', ownedBy, contextLength: 32768, kind: 'chat' },
      { id: 'text-embedding-nomic-embed-text-v1.5', ownedBy, contextLength: 2048, kind: 'embeddings' },
      { id: 'new', ownedBy },
    ])
  })

  test('LM Studio without that list', async () => {
    const entry = { id: 'a', object: 'model', owned_by: 'organization_owner' }
    expect(await list(openaiList(entry))).toEqual([{ id: 'a', ownedBy: 'organization_owner' }])
  })

  test('a llama-server with several models', async () => {
    const entry = (id: string, ...args: string[]) => ({
      id,
      object: 'model',
      owned_by: 'llamacpp',
      created: 1760000000,
      status: { value: 'unloaded', args: ['llama-server', '--port', '0', ...args], preset: '[a]' },
    })
    const found = await list(openaiList(entry('chat'), entry('vectors', '--embeddings'), entry('ranks', '--reranking')))
    expect(found.map(({ id, kind }) => `${id}: ${kind}`)).toEqual(['chat: undefined', 'vectors: embeddings', 'ranks: rerank'])
  })

  test('OpenRouter', async () => {
    const entry = {
      id: 'qwen/qwen3-32b',
      name: 'Qwen: Qwen3 32B',
      created: 1745875945,
      context_length: 40960,
      architecture: { modality: 'text->text', input_modalities: ['text'], output_modalities: ['text'] },
      top_provider: { context_length: 40960, max_completion_tokens: null },
    }
    const image = { id: 'pictures', architecture: { output_modalities: ['image'] } }
    expect(await list({ '/v1/models': { data: [entry, image] } })).toEqual([
      { id: 'qwen/qwen3-32b', createdAtMs: 1745875945000, contextLength: 40960, kind: 'chat' },
      { id: 'pictures', kind: 'other' },
    ])
  })

  test('Together, which replies without an envelope', async () => {
    const entry = { id: 'BAAI/bge', object: 'model', type: 'embedding', organization: 'BAAI', context_length: 512 }
    expect(await list({ '/v1/models': [entry] })).toEqual([{ id: 'BAAI/bge', contextLength: 512, kind: 'embeddings' }])
  })

  test("Mistral's list says which models chat", async () => {
    const entry = { id: 'mistral-small', max_context_length: 32768, capabilities: { completion_chat: true } }
    expect(await list(openaiList(entry))).toEqual([{ id: 'mistral-small', contextLength: 32768, kind: 'chat' }])
  })

  test('Anthropic, to the end of its pages', async () => {
    const models = Array.from({ length: 30 }, (_, at) => ({ type: 'model', id: `claude-${at}`, display_name: 'C' }))
    const replies = {
      '/v1/models': { data: models.slice(0, 20), has_more: true, last_id: 'claude-19' },
      '/v1/models?limit=1000': { data: models, has_more: false, last_id: 'claude-29' },
    }
    expect(await list(replies)).toHaveLength(30)
  })

  test.each([
    ['no ids', openaiList({ object: 'model' }, { id: 7 }, { id: 'a' }), ['a']],
    ['a name that names nothing', openaiList({ id: 'unknown', object: 'model', owned_by: 'local' }), []],
    ['no models', openaiList(), []],
  ])('a server with %s', async (_, replies, ids) => {
    expect((await list(replies)).map(({ id }) => id)).toEqual(ids)
  })
})

test.each([
  ['has no list', {}, 'does not offer this'],
  ['replies with something else', { '/v1/models': { message: 'hello' } }, 'did not reply to GET /models with a list of models'],
])('a server that %s is an error', async (_, replies, message) => {
  await expect(list(replies)).rejects.toThrow(message)
})

test('the key is sent, and shown in no error', async () => {
  const url = await serve({})
  const lister = createModelLister({ url, apiKey: 'sk-very-secret' })
  let sent: unknown
  const before = upstream?.get
  if (upstream !== undefined)
    upstream.get = (path, response) => {
      sent = response.req.headers.authorization
      response.writeHead(500).end('{"error":{"message":"bad key sk-very-secret"}}')
      return before !== undefined && path !== ''
    }
  const error = await lister.list(signal).catch((reason: unknown) => reason)
  await lister.close()
  expect(sent).toBe('Bearer sk-very-secret')
  expect(String(error)).toContain('bad key')
  expect(JSON.stringify([String(error), error, String((error as Error).cause)])).not.toContain('very-secret')
})
