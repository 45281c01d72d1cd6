import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Message, plainChat } from '../../../src/contract/request.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import { chatRequest, complete } from '../../engine-contract.ts'
import { readLlamaTemplates } from '../../support/llama/llama-templates.ts'
import { encodeSmallModel, type SmallArchitecture } from '../../support/llama/random-architectures.ts'
import { assistant, call, reasoning, text } from '../../support/parts.ts'
import { isFullLength } from '../../support/process/soak-length.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }
/** More calls between two questions than a slot has points to return to, of which each turn takes two. */
const calls = 18
const often = (words: string) => `${words} `.repeat(12)
const user = (words: string): Message => ({ role: 'user', content: [text(often(words))] })
const thought = (words: string) => reasoning(often(words))
const read = {
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-thoughts-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** An agent's calls before its answer, and their results. */
function callsFor(file: string, count: number): Message[] {
  return Array.from({ length: count }, (_, index): Message[] => [
    assistant(thought(`I look into ${file} ${index}.`), call(`call_${file}_${index}`, 'read', `{"path":"${file}${index}"}`)),
    { role: 'tool', toolCallId: `call_${file}_${index}`, content: [text(often(`Line ${index} of ${file}.`))] },
  ]).flat()
}

/** The tokens reused in the last turn before another conversation takes the slot, and for the question after it. */
async function reusedForQuestion(architecture: SmallArchitecture, chatTemplate: string) {
  const modelPath = join(folder, `${architecture}.gguf`)
  await writeFile(modelPath, encodeSmallModel(architecture, { width: 32, window: 64 }), { flag: 'wx' }).catch(() => undefined)
  const prefixCache = { memoryBytes: 1e9, minTokens: 64 }
  const context = { slots: 1, contextLength: 8192, threads: 1, flashAttention: true }
  const engine = new LlamaEngine({
    id: 'small',
    locate: async () => ({ modelPath, chatTemplate, prefixCache, ...context }),
    log: quiet,
  })
  onTestFinished(() => engine.close())
  const reused = async (messages: readonly Message[]) => {
    const prompt = { type: 'chat' as const, ...plainChat, messages, tools: [read] }
    const { usage } = await complete(engine, { ...chatRequest('', { prompt, maxOutputTokens: 2 }), owner: 'anna' })
    return usage?.cachedInputTokens ?? Number.NaN
  }
  const told: Message[] = [{ role: 'system', content: [text(often('You read files, and say what is in them.'))] }]
  const turnsOf = async (messages: readonly Message[]) => {
    for (const message of messages) {
      told.push(message)
      if (message.role !== 'assistant') await reused(told)
    }
  }
  await turnsOf([user('What is in a?'), ...callsFor('a', 2), assistant(thought('I know.'), text('It is a.'))])
  await turnsOf([user('And in b?'), ...callsFor('b', calls), assistant(thought('I know.'), text('It is b.'))])
  const before = await reused(told.slice(0, -1))
  await reused([user('Who are you?')])
  return { before, now: await reused([...told, user('And in c?')]) }
}

const every = [
  'Qwen-Qwen3-0.6B.jinja',
  'Qwen3.5-4B.jinja',
  'openai-gpt-oss-120b.jinja',
  'GLM-4.6.jinja',
  'Kimi-K2-Thinking.jinja',
]
const templates = readLlamaTemplates()

test.skipIf(templates === undefined).each(isFullLength ? every : every.slice(0, 1))(
  'models that forget reuse what all others do, where %s drops the thoughts behind the last question but one',
  async (name) => {
    const source = templates?.get(name) ?? ''
    const ideal = await reusedForQuestion('llama', source)
    expect(ideal.now).toBeLessThan(0.7 * ideal.before)
    for (const architecture of isFullLength ? (['gemma3', 'lfm2', 'mamba', 'qwen35'] as const) : (['gemma3', 'lfm2'] as const)) {
      const { now } = await reusedForQuestion(architecture, source)
      expect(now, architecture).toBeGreaterThan(0.95 * ideal.now)
    }
  },
)
