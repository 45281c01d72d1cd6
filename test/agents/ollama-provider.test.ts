import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../support/http/app.ts'
import { agentHint, installedAgent } from './agent-host.ts'

const bin = installedAgent('codex')

test.skipIf(bin === undefined)(
  `codex finds the server as a local provider of Ollama, and gets its answer${agentHint('codex')}`,
  { timeout: 180_000 },
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'dragoman-codex-'))
    const script = join(home, 'script.json')
    await writeFile(script, JSON.stringify([{ reply: { raw: 'The word is pear.' } }]))
    const app = await startApp({ models: [{ id: 'scripted', engine: 'fake', script, contextLength: 200_000 }] })
    onTestFinished(async () => {
      await app.close()
      await rm(home, { recursive: true, force: true })
    })
    const options = ['--oss', '--local-provider', 'ollama', '-m', 'scripted', '--skip-git-repo-check']
    const closed = { HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' }
    const child = spawn(join(bin ?? '', 'codex'), ['exec', ...options, 'Which word?'], {
      cwd: home,
      env: { PATH: process.env.PATH, ...closed, HOME: home, CODEX_HOME: home, CODEX_OSS_PORT: new URL(app.url).port },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)))
    const [code] = await once(child, 'close')
    expect([code, said.join('')]).toEqual([0, expect.stringContaining('The word is pear.')])
    const routes = app
      .logLines()
      .flatMap((line) => ('route' in line ? [`${line.route} ${'status' in line ? line.status : ''}`] : []))
    expect(routes).toEqual(expect.arrayContaining(['/api/tags 200', '/api/pull 200', '/v1/responses 200']))
  },
)
