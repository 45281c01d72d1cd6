import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Folders that could be packages of their own: a README, and no import of ours or of a package. */
test.each(['jinja', 'grammar'])('src/%s imports nothing but its own files and Node', (name) => {
  const folder = new URL(`../src/${name}/`, import.meta.url)
  const files = readdirSync(folder)
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const imported = sources.flatMap((file) =>
    Array.from(readFileSync(new URL(file, folder), 'utf8').matchAll(/ from '([^']+)'/g), ([, path = '']) => path),
  )
  expect(files).toContain('README.md')
  expect(imported.length).toBeGreaterThan(sources.length)
  expect(imported.filter((path) => !path.startsWith('./') && !path.startsWith('node:'))).toEqual([])
})
