import type { Logger } from 'pino'
import { openTracing } from '../../telemetry/open-tracing.ts'
import { readTracing } from '../../telemetry/settings.ts'

type Surroundings = { readonly log: Logger; readonly version: string; readonly env: NodeJS.ProcessEnv }

/** Tracing as OpenTelemetry's environment variables configure it; undefined for none. Unusable values are logged. */
export function openConfiguredTracing({ log, version, env }: Surroundings): ReturnType<typeof openTracing> | undefined {
  const { settings, problems } = readTracing(env)
  for (const problem of problems) log.warn(problem)
  if (settings === undefined) return undefined
  // Its query and password may be secret.
  const { origin, pathname } = new URL(settings.url)
  log.info({ collector: origin + pathname }, 'traces are sent')
  return openTracing(settings, {
    version,
    onAway: (reason) => log.warn({ reason }, 'the collector does not take traces: they are dropped'),
    onBack: () => log.info('the collector takes traces again'),
  })
}
