import { onTestFinished } from 'vitest'
import type { EndpointSource, FoundEndpoint } from '../../../src/engine/remote/endpoints/source.ts'
import { until } from '../http/app.ts'

/** Follows a source until the test is over, and remembers what it reports. */
export function follow(source: EndpointSource) {
  const heard = { sets: [] as (readonly FoundEndpoint[])[], failures: [] as string[] }
  const { stop } = source.follow({
    onSet: (found) => void heard.sets.push(found),
    onFailure: (reason) => void heard.failures.push(reason),
  })
  onTestFinished(stop)
  return {
    heard,
    stop,
    until,
    /** The last set, once there is one. */
    async urls(): Promise<readonly string[]> {
      await until(() => heard.sets.length > 0)
      return (heard.sets.at(-1) ?? []).map(({ url }) => url)
    },
    /** Resolves when the next set is reported. */
    async changed(): Promise<void> {
      const before = heard.sets.length
      await until(() => heard.sets.length > before)
    },
  }
}
