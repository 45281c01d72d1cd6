import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { startApp } from '../../support/http/app.ts'
import { scriptedAnswers, scriptedTemplate } from '../../support/http/client-script.ts'
import { installedFrom } from '../../support/process/test-tools.ts'
import { startHub } from '../../support/upstream/hub.ts'

const program = fileURLToPath(new URL('../../lmstudio/client.mjs', import.meta.url))
const installed = installedFrom('lmstudio', new URL('../../lmstudio/package.json', import.meta.url))
const isInstalled = existsSync(installed)
const hint = isInstalled ? '' : ' (skipped: install it with `npm run lmstudio`)'
const text = 'Good morning.'
/** What each call says. */
const expected: Readonly<Record<string, unknown>> = {
  models: [['scripted', 'tiny'], true, 'scripted', 2048, true],
  respond: [text, text, 'eosFound', 2],
  structured: true,
  tools: 'It has 21 degrees.',
  texts: [true, 256, 'maxPredictedTokensReached', true],
  picture: text,
  cancel: 'userStopped',
  loads: ['second', 512, true, 512, 768],
  downloads: ['owner/some', ['Q4_K_M', 'Q8_0'], 1, true],
  failures: [true, true, true],
}

describe.skipIf(!isInstalled)(`LM Studio's SDK${hint}`, () => {
  let outcomes: readonly { readonly name: string; readonly said?: unknown; readonly failure?: string }[] = []

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-lmstudio-'))
    const script = join(folder, 'script.json')
    await writeFile(script, JSON.stringify(scriptedAnswers))
    const hub = await startHub()
    vi.stubEnv('HF_ENDPOINT', hub.origin)
    const app = await startApp({
      models: [
        { id: 'scripted', engine: 'fake', script, chatTemplate: scriptedTemplate },
        { id: 'tiny', engine: 'llama', source: 'builtin:dragoman-tiny.gguf', contextLength: 2048 },
      ],
    })
    try {
      // A call that waits for ever for a reply that it cannot read ends with the time.
      const { stdout } = await promisify(execFile)(process.execPath, [program, installed, app.url], { timeout: 100_000 })
      outcomes = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    } finally {
      await app.close()
      vi.unstubAllEnvs()
      await hub.close()
      await rm(folder, { recursive: true, force: true })
    }
  }, 120_000)

  test.each(Object.entries(expected))('%s', (name, said) => {
    expect(outcomes.find((outcome) => outcome.name === name)).toEqual({ name, said })
  })
})
