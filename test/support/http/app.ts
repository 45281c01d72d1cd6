import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import { type App, createApp } from '../../../src/app/create-app.ts'
import { createLog } from '../../../src/app/log/log.ts'
import { separateEntries } from '../../../src/config/entries.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Primary } from '../../../src/contract/server/shared.ts'

export { until } from '../until.ts'

export type Settings = z.input<typeof configSchema>

export type RunningApp = App & {
  readonly url: string
  readonly home: string
  /** The log so far, one parsed object per line. */
  readonly logLines: () => { level: number; msg?: string }[]
  /** The value of a metric line such as `dragoman_slots_busy{model="m"}`. */
  readonly metric: (line: string) => Promise<number>
}

/** Whether servers of tests are two behind nginx: `npm run pods`. */
export const hasPods = process.env.DRAGOMAN_TEST_PODS !== undefined

/** Starts the whole server on a free loopback port with its own home folder, and without a store unless settings have one. Close it. */
export async function startApp(
  settings: Settings,
  { keepsLog = () => true, primary }: { readonly keepsLog?: (line: string) => boolean; readonly primary?: Primary } = {},
): Promise<RunningApp> {
  if (hasPods) return (await import('./pods.ts')).startPods(settings)
  const home = await mkdtemp(join(tmpdir(), 'dragoman-test-home-'))
  const config = separateEntries(configSchema.parse({ storage: 'off', ...settings, server: { port: 0, ...settings.server } }))
  const lines: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void (keepsLog(line) && lines.push(line)) } })
  const app = await createApp({ ...config, home }, { log, ...(primary !== undefined && { primary }) })
  const url = await app.listen()
  await app.whenReady()
  return {
    ...app,
    url,
    home,
    models: app.models,
    logLines: () => lines.map((line) => JSON.parse(line)),
    metric: async (line) => {
      const text = await (await fetch(`${url}/metrics`)).text()
      const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `))
      if (found === undefined) throw new Error(`no metric ${line}`)
      return Number(found.slice(line.length + 1))
    },
    close: async () => {
      await app.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}
