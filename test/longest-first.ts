import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longer than their size lets vitest expect. One that begins last would run alone at the end. */
const long =
  /\/(other-nodes|release|structured|responses-restart|models-come-and-go|residency|unfair-requests|remote-chaos|hang-ups)\.test\.ts$/

/** Vitest's order (by the durations of the last run, else by size), but for what is known to be long: it begins first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return [...sorted.filter(({ moduleId }) => long.test(moduleId)), ...sorted.filter(({ moduleId }) => !long.test(moduleId))]
  }
}
