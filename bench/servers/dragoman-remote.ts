import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import { configSchema } from '../../src/config/schema.ts'
import { createLog } from '../../src/log.ts'
import { reportCpu } from './report-cpu.ts'

/** Dragoman in front of one server. Its log is off, as the bare proxy has none. */
const [, , , upstream = ''] = process.argv
const home = await mkdtemp(join(tmpdir(), 'dragoman-bench-'))
const model = { id: 'up', engine: 'remote', endpoints: [{ url: `${upstream}/v1` }], slots: 2048, maxQueued: 2048 }
const config = configSchema.parse({ server: { port: 0 }, models: [model], builtinModel: false })
const app = await createApp({ ...config, home }, { log: createLog({ level: 'silent' }) })
const url = await app.listen()
await app.whenReady()
reportCpu(Number(new URL(url).port))
