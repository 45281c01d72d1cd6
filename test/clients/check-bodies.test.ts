import { expect, test } from 'vitest'
import { isObject } from '../../src/base/json.ts'
import { ownFolder, type Recording, readRecordings } from './recording.ts'

/** One request of each: of agents the second one, which has the result of a tool. */
const chosen = [
  'claude/a-command-over-messages-2',
  'codex/a-command-over-responses-2',
  'cline/a-command-over-chat-2',
  'continue/a-command-2',
  'copilot/a-command-over-chat-2',
  'opencode/a-command-over-chat-3',
  'qwen/a-command-over-chat-2',
  'aider/a-question-1',
  'ai-sdk/openai-tools-1',
  'langchain-openai-python/structured-1',
  'sillytavern/custom/a-reply-1',
  'ollama-npm/chat-tools-2',
]
const keptTools = 3
const longest = 60
const charactersPerToken = 4
/** Neutral texts say how long they were. */
const lengthOf = (text: string) => Number(/^\[(\d+) characters\]/.exec(text)?.[1] ?? text.length)

/** All keys, with fewer tools and short texts. */
function shortened(value: unknown, key = ''): unknown {
  if (typeof value === 'string')
    return key.endsWith('id') || key === 'arguments' ? value : value.replace(/^\[\d+ characters\] /, '').slice(0, longest)
  if (Array.isArray(value)) return (key === 'tools' ? value.slice(0, keptTools) : value).map((one) => shortened(one))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one, name)]))
}

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return lengthOf(value)
  if (typeof value !== 'object' || value === null) return 4
  return Object.entries(value).reduce(
    (sum, [key, one]) => sum + (Array.isArray(value) ? 0 : key.length + 4) + charactersOf(one),
    0,
  )
}

function bodyOf({ client, path, headers, body }: Recording) {
  const own = Object.fromEntries(Object.entries(headers).filter(([name]) => /^anthropic-|^openai-/.test(name)))
  const tokens = Math.ceil(charactersOf(body) / charactersPerToken / 100) * 100
  return { client, path, headers: own, tokens, body: shortened(body) }
}

test('the bodies of clients that `dragoman check` sends have the fields of their recordings', async () => {
  const recordings = readRecordings(ownFolder)
  const lines = chosen.map((name) => {
    const recording = recordings.get(name)
    if (recording === undefined) throw new Error(`there is no recording ${name}`)
    return `  ${JSON.stringify(bodyOf(recording))},`
  })
  expect(lines.join('')).not.toMatch(/`|\$\{/)
  const text = `// Written by test/clients/check-bodies.test.ts from the recordings of clients: \`npm run unit -- test/clients/check-bodies -u\`.
import type { ClientBody } from './client-body.ts'

export const clientBodies: readonly ClientBody[] = JSON.parse(String.raw\`[
${lines.join('\n').slice(0, -1)}
]\`)
`
  await expect(text).toMatchFileSnapshot('../../src/check/probe/client-bodies.ts')
})
