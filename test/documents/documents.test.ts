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
])('docs/%s has %s', async (name, _, document) => {
  await expect(document()).toMatchFileSnapshot(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)))
})
