import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url))
const settings = JSON.parse(readFileSync(new URL('../biome.json', import.meta.url), 'utf8')) as Record<string, unknown>

const forbidden = [
  ['core', '../contract/dialect.ts'],
  ['core', '../metrics.ts'],
  ['core', '../create-model.ts'],
  ['dialect', '../http/server.ts'],
  ['dialect', '../config/schema.ts'],
  ['engine', '../registry/sources.ts'],
  ['engine', '../config/schema.ts'],
  ['registry', '../engine/llama/engine.ts'],
  ['registry', '../config/schema.ts'],
  ['config', '../http/server.ts'],
  ['config', '../contract/dialect.ts'],
  ['http', '../engine/llama/engine.ts'],
  ['http', '../registry/registry.ts'],
  ['http', '../config/schema.ts'],
  ['http', '../app.ts'],
] as const
const allowed = [
  ['http', '../core/errors.ts'],
  ['http', '../contract/dialect.ts'],
  ['http', './metrics.ts'],
  ['dialect', '../core/event.ts'],
  ['engine', '../core/engine.ts'],
  ['registry', '../core/errors.ts'],
  ['config', '../registry/sources.ts'],
  ['config', './models.ts'],
] as const

/** A project of one file for each import, linted by our rules; resolves with the files that break the layers. */
function lintAll(folder: string): string {
  const { vcs: _, $schema: __, ...rules } = settings
  writeFileSync(join(folder, 'biome.json'), JSON.stringify(rules))
  for (const [index, [layer, imported]] of [...forbidden, ...allowed].entries()) {
    mkdirSync(join(folder, 'src', layer), { recursive: true })
    const source = `import { thing } from '${imported}'\n\nexport const example = thing\n`
    writeFileSync(join(folder, 'src', layer, `case-${index}.ts`), source)
  }
  const arguments_ = [biome, 'lint', '--colors=off', '--max-diagnostics=none', '--only=style/noRestrictedImports', '.']
  const { stdout, stderr } = spawnSync(process.execPath, arguments_, { cwd: folder, encoding: 'utf8' })
  return stdout + stderr
}

describe('imports point only downwards', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-layers-'))
  let output: string
  beforeAll(() => {
    output = lintAll(folder)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(forbidden.map(([layer, imported], index) => ({ layer, imported, index })))(
    '$layer must not import $imported',
    ({ layer, index }) => {
      expect(output).toContain(`src/${layer}/case-${index}.ts`)
    },
  )

  test.each(allowed.map(([layer, imported], index) => ({ layer, imported, index: forbidden.length + index })))(
    '$layer may import $imported',
    ({ layer, index }) => {
      expect(output).not.toContain(`src/${layer}/case-${index}.ts`)
    },
  )
})
