import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { program } from '../../src/cli/commands.ts'
import { commandsDocument } from './commands-document.ts'
import { errorsDocument } from './errors-document.ts'
import { settingsDocument } from './settings-document.ts'

// `npm run unit -- test/documents -u` writes them again.
test.each([
  ['cli.md', 'the commands as they are defined', () => commandsDocument(program)],
  ['errors.md', 'each failure with its statuses', errorsDocument],
  ['settings.md', 'the settings as the schema describes them', settingsDocument],
])('docs/reference/%s has %s', async (name, _, document) => {
  await expect(document()).toMatchFileSnapshot(fileURLToPath(new URL(`../../docs/reference/${name}`, import.meta.url)))
})

test('each record of a measurement is named by a document', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const below = (folder: string) => readdirSync(root + folder, { recursive: true }).map((path) => `${folder}/${path}`)
  const records = readdirSync(`${root}bench/results`)
  const documents = ['README.md', 'models/README.md', ...below('docs'), ...below('bench')].filter((path) => path.endsWith('.md'))
  const texts = documents.map((path) => readFileSync(root + path, 'utf8')).join('\n')
  expect(records.length).toBeGreaterThan(0)
  expect(records.filter((name) => !texts.includes(name))).toEqual([])
})
