import { freePort } from '../../../src/engine/llama-server/free-port.ts'
import { startNginx } from '../process/nginx.ts'
import { startPostgres } from '../process/postgres.ts'
import { createServeHome } from '../process/serve-process.ts'
import type { RunningApp, Settings } from './app.ts'

/** What tests know of a server wherever its processes are. */
const members = ['url', 'home', 'metric', 'close'] as const

/** As `startApp`: two servers with these settings on one PostgreSQL, behind an nginx that sends each request to the other one. */
export async function startPods({ server, models = [], storage, log: _, ...settings }: Settings): Promise<RunningApp> {
  const postgres = storage === 'off' ? undefined : await startPostgres()
  const database = await postgres?.createDatabase()
  const kept = database === undefined ? 'off' : { ...(typeof storage === 'object' && storage), database }
  const ports = [await freePort(), await freePort()]
  const homes = await Promise.all(
    ports.map((port) => createServeHome(kept, { ...server, port }, { models, settings: { builtinModel: false, ...settings } })),
  )
  const pods = await Promise.all(homes.map((home) => home.start()))
  for (const { url } of pods) await untilReady(url)
  const nginx = await startNginx(
    `location / {
      proxy_pass http://dragoman; proxy_buffering off; proxy_request_buffering off; client_max_body_size 0; proxy_read_timeout 1h;
      proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
    }`,
    {
      around: `map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
        upstream dragoman { ${ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')} }`,
    },
  )
  const readMetric = async (url: string, line: string) => {
    const text = await (await fetch(`${url}/metrics`)).text()
    const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `))
    return Number(found?.slice(line.length + 1) ?? 0)
  }
  const app = {
    url: nginx.url,
    home: homes[0]?.home ?? '',
    async metric(line: string) {
      const values = await Promise.all(pods.map(({ url }) => readMetric(url, line)))
      return values.reduce((sum, value) => sum + value, 0)
    },
    async close() {
      await nginx.close()
      await Promise.all(homes.map((home) => home.remove()))
      await postgres?.stop()
    },
  }
  return new Proxy(app as unknown as RunningApp, {
    get: (target, name) => {
      if (name === 'then' || members.some((member) => member === name)) return Reflect.get(target, name)
      throw new Error(`'${String(name)}' is a member of a server in this process: this test is not for two`)
    },
  })
}

async function untilReady(url: string): Promise<void> {
  while (!(await fetch(`${url}/ready`)).ok) await new Promise((resolve) => setTimeout(resolve, 50))
}
