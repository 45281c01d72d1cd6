import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from './load.ts'
import { printConfig } from './print-config.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-print-'))
  return () => rmSync(folder, { recursive: true })
})

async function printed(text: string, env: Record<string, string> = {}): Promise<string> {
  const config = join(folder, 'dragoman.yaml')
  writeFileSync(config, text)
  return printConfig(await loadConfig({ flags: { config }, env, cwd: folder, userHome: folder }))
}

const models = `models:
  - { id: a, source: ./a.gguf }
  - { id: b, source: [hf:o/r/b.gguf, "wheel:w==1#b.gguf"], contextLength: 4096 }
  - { id: c, endpoints: [{ url: http://127.0.0.1:1 }] }
  - { id: d, script: from-request }
`

describe('the effective configuration', () => {
  test('the effective configuration is one itself, with absolute paths and the engine of each model', async () => {
    const first = await printed(models)
    expect(parse(first).models).toMatchObject([
      { engine: 'llama', source: [join(folder, 'a.gguf')] },
      { engine: 'llama', source: ['hf:o/r/b.gguf', 'wheel:w==1#b.gguf'] },
      { engine: 'remote' },
      { engine: 'fake', script: 'from-request' },
    ])
    expect(await printed(first)).toBe(first)
  })

  test('the effective configuration has what flags and variables set', async () => {
    expect(parse(await printed(models, { DRAGOMAN_PORT: '1234' })).server.port).toBe(1234)
  })

  test('the effective configuration has no secrets', async () => {
    const keys = 'server: { apiKeys: [plain-secret, { key: other-secret, name: n }], adminKey: admin-secret }\n'
    const tools = 'tools: { mcp: { docs: { command: docs, env: { DOCS: secret } } } }\n'
    const text = await printed(`${keys}${tools}storage: postgres://user:db-secret@127.0.0.1/d\n${models}`)
    expect(text).not.toMatch(/secret/)
    const { server, storage, ...rest } = parse(text)
    expect(rest.tools.mcp.docs.env).toEqual({ DOCS: '***' })
    expect(server).toMatchObject({ apiKeys: ['***', { key: '***', name: 'n' }], adminKey: '***' })
    expect(storage.database).toBe('postgres://user:***@127.0.0.1/d')
  })
})

test('a model without an engine, and without what says which, is refused', async () => {
  await expect(printed('models: [{ id: x }]\n')).rejects.toThrow(/models\[0\].engine: is missing/)
})

test('what is wrong in a model whose engine is derived is named', async () => {
  await expect(printed('models: [{ id: x, source: ./x.gguf, contextLenth: 5 }]\n')).rejects.toThrow(
    "unknown key 'contextLenth'; did you mean 'contextLength'?",
  )
})
