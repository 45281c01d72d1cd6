import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { searchHub } from './search-hub.ts'

async function hub(answer: (response: ServerResponse) => void) {
  const asked: string[] = []
  const { origin, close } = await listenOnLoopback(({ url, headers }, response) => {
    asked.push(`${url} ${headers.authorization ?? ''}`)
    answer(response)
  })
  onTestFinished(close)
  const env = { HF_ENDPOINT: origin, HF_TOKEN: 't' }
  return { asked, search: (text: string) => searchHub(text, { env, limit: 3, responseTimeoutMs: 300 }) }
}

describe('a search on Hugging Face', () => {
  test('a search on Hugging Face asks for repositories of GGUF files, the most downloaded first', async () => {
    const found = [{ id: 'o/r-GGUF', downloads: 7, likes: 2, tags: ['gguf'], pipeline_tag: 'image-text-to-text' }, { id: 'o/s' }]
    const { asked, search } = await hub((response) => response.end(JSON.stringify(found)))
    expect(await search('a b&c')).toEqual([
      { id: 'o/r-GGUF', downloads: 7, likes: 2, reads: 'images' },
      { id: 'o/s', downloads: 0, likes: 0 },
    ])
    expect(asked).toEqual(['/api/models?search=a+b%26c&filter=gguf&sort=downloads&direction=-1&limit=3 Bearer t'])
  })

  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['another list', (response) => response.end('{}'), /did not send a list of models/],
    ['no JSON', (response) => response.end('<html>'), /is not JSON/],
    ['an error', (response) => response.writeHead(503).end(), /answered with status 503; try again later/],
    ['nothing', () => undefined, /did not answer within 0.3 s/],
  ])('a search on Hugging Face says that the reply is %s', async (_, answer, message) => {
    const { search } = await hub(answer)
    await expect(search('x')).rejects.toThrow(message)
  })

  test('a search on Hugging Face says immediately that there is no network', async () => {
    const env = { HF_ENDPOINT: 'http://127.0.0.1:9' }
    await expect(searchHub('x', { env, limit: 3, responseTimeoutMs: 5000 })).rejects.toThrow(
      /^127.0.0.1:9 cannot be reached \(.*\); check the network/,
    )
  })
})
