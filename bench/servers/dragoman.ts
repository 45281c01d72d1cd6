import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { configSchema } from '../../src/config/schema.ts'
import { createLog } from '../../src/log.ts'
import { reportCpu } from './report-cpu.ts'
import { scriptedChunks } from './scripted.ts'

/** Dragoman with a scripted model. Its log is off, as the bare server has none. */
const home = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
const script = join(home, 'script.yaml')
const replies = [
  { match: '^short$', reply: { chunks: scriptedChunks(1) } },
  { reply: { chunks: scriptedChunks(Number(process.argv[2])) } },
]
await writeFile(script, JSON.stringify(replies))
const config = configSchema.parse({ server: { port: 0 }, models: [{ id: 'scripted', engine: 'fake', script }] })
const app = await createApp({ ...config, home }, { log: createLog({ level: 'silent' }) })
const url = await app.listen()
await app.whenReady()
reportCpu(Number(new URL(url).port))
