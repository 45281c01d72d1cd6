import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findProgram } from '../../../src/tools/sandbox/find-machine.ts'
import { builtProgram } from '../../support/process/built-program.ts'
import { hasSandbox, sandboxHint } from '../../support/tools/sandbox.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-absent-'))
  await chmod(folder, 0o777)
  await mkdir(join(folder, 'sessions'))
  const tools = { python: true, terminal: true, sessions: { folder: join(folder, 'sessions') } }
  await writeFile(join(folder, 'dragoman.json'), JSON.stringify({ tools }))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What a command says on a machine that bubblewrap makes less of. */
function say(less: readonly string[], command: string): Promise<string> {
  const args = [
    '--dev-bind',
    '/',
    '/',
    ...less,
    process.execPath,
    builtProgram,
    command,
    '--config',
    join(folder, 'dragoman.json'),
  ]
  const env = { ...process.env, DRAGOMAN_HOME: folder, HF_ENDPOINT: 'http://127.0.0.1:1' }
  return new Promise((resolve) => {
    // `dragoman tools` ends with 1 where a tool is absent.
    execFile(findProgram('bwrap') ?? '', args, { env }, (_, out, err) => resolve(out + err))
  })
}

describe.runIf(hasSandbox)(`\`dragoman doctor\` and \`dragoman tools\` say why programs cannot run${sandboxHint}`, () => {
  test.each<[string, () => readonly string[], RegExp]>([
    [
      'where new namespaces are forbidden, as in hardened services and containers',
      () => ['--unshare-user', '--uid', '1000', '--disable-userns'],
      /the sandbox does not start: .*does not allow user namespaces to the user of the server/,
    ],
    [
      'where the folder of sessions cannot be written',
      () => ['--ro-bind', join(folder, 'sessions'), join(folder, 'sessions')],
      /sessions\/\S+, where programs have their files, cannot be written \(EROFS.*set tools\.sessions\.folder to another/,
    ],
    [
      'where root may not give files away, as in a container that maps one user',
      () => ['--unshare-user', '--uid', '0'],
      /a server of root runs programs as the user \d+, to whom it cannot give files here/,
    ],
    ['where there is no bash', () => ['--ro-bind', '/dev/null', '/usr/bin/bash'], /bash/],
  ])('%s', async (_, less, why) => {
    const [doctor = '', tools = ''] = await Promise.all(['doctor', 'tools'].map((command) => say(less(), command)))
    for (const name of ['terminal', 'python']) {
      if (why.source === 'bash' && name === 'python') continue
      expect(doctor).toMatch(new RegExp(`^! tools +${name}: .*${why.source}`, 'm'))
      expect(tools).toMatch(new RegExp(`^absent: ${name}: .*${why.source}`, 'm'))
    }
    expect(doctor).toContain('the server has no terminal then, as programs never run without isolation')
  })
})
