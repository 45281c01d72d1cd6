import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startApp } from '../../support/http/app.ts'
import { scriptedAnswers, scriptedTemplate } from '../../support/http/client-script.ts'
import { pythonClients } from '../../support/process/python-clients.ts'
import { startHub } from '../../support/upstream/hub.ts'

const program = fileURLToPath(new URL('../../python-clients/clients.py', import.meta.url))
const modules = [
  'openai_client',
  'anthropic_client',
  'langchain_openai_client',
  'langchain_anthropic_client',
  'langchain_ollama_client',
  'ollama_client',
  'llama_index_client',
  'instructor_client',
  'lmstudio_client',
]
const text = 'Good morning.'
const answer = 'It has 21 degrees.'
/** What each call of the clients says. */
const expected: Readonly<Record<string, unknown>> = {
  openai_chat: [text, text, 2, 2],
  openai_chat_reasoning: ['Two words.', text, 'Two words.', text, null],
  openai_chat_tools: answer,
  openai_chat_parse: [true, true],
  openai_chat_stored: [true, ['weather', 'weather'], 2, ['How is the weather in Oslo?'], { client: 'changed' }, [true, true], []],
  openai_responses: [text, text, 'response.completed', 2],
  openai_responses_tools: [answer, answer],
  openai_responses_parse: true,
  openai_refusals: [
    [404, 'model'],
    [400, 'tools[0].type'],
  ],
  openai_batches: ['completed', 3, [text, text, text], true, 'completed'],
  anthropic_batches: [3, [text, text, text], 'ended', 'message_batch_deleted'],
  anthropic_messages: [text, text, 'end_turn', 2],
  anthropic_thinking: [
    ['thinking', 'text'],
    ['thinking', 'text'],
  ],
  anthropic_tools: [answer, answer],
  anthropic_count: true,
  langchain_openai: [
    [text, text, 2],
    [answer, answer],
  ],
  langchain_openai_responses: [
    [text, text, 2],
    [answer, answer],
  ],
  langchain_openai_structured: [true, true, true],
  langchain_openai_embeddings: [64, 64],
  langchain_anthropic: [
    [text, text, 2],
    [answer, answer],
  ],
  langchain_anthropic_thinking: [
    ['thinking', 'text'],
    [answer, answer],
  ],
  langchain_anthropic_structured: [true, true],
  ollama_chat: [text, text, 2, 'stop'],
  ollama_thinking: [
    ['Two words.', text],
    ['Two words.', text],
  ],
  ollama_tools: [answer, answer],
  ollama_format: true,
  ollama_texts: [text, [64, 64]],
  ollama_models: [
    ['scripted:latest', 'tiny:latest'],
    ['completion', 'tools', 'vision', 'thinking'],
    'llama',
    true,
    ['success', ['success']],
  ],
  ollama_failures: [
    [404, true],
    [501, true],
    [400, true],
    [-1, true],
  ],
  langchain_ollama: [
    [text, text, 2],
    [answer, answer],
  ],
  langchain_ollama_reasoning: ['Two words.', text],
  langchain_ollama_structured: true,
  langchain_ollama_texts: [text, text, [64, 64]],
  llama_index_chat: [text, text, text],
  llama_index_tools: [answer, answer],
  llama_index_structured: [true, true],
  instructor_openai: [
    [true, true],
    [true, true],
    [true, true],
  ],
  instructor_anthropic: true,
  lmstudio_models: [['scripted', 'tiny'], true, 'scripted', true, null],
  lmstudio_respond: [text, text, 'eosFound', 2],
  lmstudio_structured: true,
  lmstudio_tools: answer,
  lmstudio_texts: [true, 256, 'maxPredictedTokensReached', true],
  lmstudio_picture: text,
  lmstudio_cancel: 'userStopped',
  lmstudio_loads: ['second', 512, true, 512, 768],
  lmstudio_downloads: [['Q4_K_M', 'Q8_0'], true],
  lmstudio_failures: [true, true],
}

const outcome = z.object({ name: z.string(), said: z.unknown().optional(), failure: z.string().optional() })

describe.skipIf(!pythonClients.areInstalled)(`Python clients${pythonClients.hint}`, () => {
  const outcomes = new Map<string, z.output<typeof outcome>>()

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-python-'))
    const script = join(folder, 'script.json')
    await writeFile(script, JSON.stringify(scriptedAnswers))
    const hub = await startHub()
    vi.stubEnv('HF_ENDPOINT', hub.origin)
    const app = await startApp({
      storage: join(folder, 'store.db'),
      models: [
        { id: 'scripted', engine: 'fake', script, chatTemplate: scriptedTemplate },
        { id: 'tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf' },
      ],
    })
    try {
      const env = pythonClients.environment(folder)
      const { stdout } = await promisify(execFile)('python3', [program, app.url, ...modules], { env, maxBuffer: 1 << 24 })
      for (const line of stdout.trim().split('\n')) {
        const read = outcome.parse(JSON.parse(line))
        outcomes.set(read.name, read)
      }
    } finally {
      await app.close()
      vi.unstubAllEnvs()
      await hub.close()
      await rm(folder, { recursive: true, force: true })
    }
  }, 300_000)

  test.each(Object.entries(expected))('%s', (name, said) => {
    const found = outcomes.get(name)
    expect(found?.failure).toBeUndefined()
    expect(found?.said).toEqual(said)
  })

  test('all that were asked are expected', () => {
    expect([...outcomes.keys()].sort()).toEqual(Object.keys(expected).sort())
  })
})
