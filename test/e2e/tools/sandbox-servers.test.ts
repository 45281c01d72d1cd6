import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSandboxTools } from '../../../src/app/generating/tools.ts'
import { serverTools } from '../../../src/config/sections/tools-schema.ts'
import { hasSandbox, sandboxHint, someSession } from '../../support/tools/sandbox.ts'

test.runIf(hasSandbox)(`servers that share a folder do not share the sessions in it${sandboxHint}`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-servers-'))
  await chmod(folder, 0o711)
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const tools = serverTools.parse({ terminal: true, sessions: { folder: join(folder, 'sessions') } })
  const run = async (home: string, command: string) => {
    const box = await createSandboxTools({ tools, home: join(folder, home) })
    const tool = (await box?.list())?.tools[0]
    const outcome = await tool?.run({ arguments: { command }, session: someSession, signal: new AbortController().signal })
    await box?.close()
    return outcome?.text
  }
  expect(await run('one', 'echo secret > notes')).toBe('(no output)')
  expect(await run('other', 'cat notes 2>/dev/null; ls')).toBe('(no output)')
  expect(await run('one', 'cat notes')).toBe('secret\n')
})
