import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longer than their size lets vitest expect. One that begins last would run alone at the end. */
const long = new Set([
  'control-tokens',
  'converter',
  'hang-ups',
  'models-come-and-go',
  'open-store',
  'other-nodes',
  'programs',
  'release',
  'remote-chaos',
  'repeats',
  'residency',
  'responses-restart',
  'responses-resume',
  'structured',
  'unfair-requests',
])

/** Vitest's order (by the durations of the last run, else by size), but for what is known to be long: it begins first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => long.has(basename(moduleId, '.test.ts'))
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
