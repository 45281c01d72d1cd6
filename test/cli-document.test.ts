import { expect, test } from 'vitest'
import { program } from '../src/cli/commands.ts'
import { commandsDocument } from './support/commands-document.ts'

const root = new URL('../', import.meta.url)

// `npx vitest run --project unit test/cli-document.test.ts --update` writes it again.
test('docs/cli.md has the commands as they are defined', async () => {
  await expect(commandsDocument(program)).toMatchFileSnapshot(new URL('docs/cli.md', root).pathname)
})
