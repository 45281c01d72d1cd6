import { type Emit, inTurn } from '../base/emit.ts'
import { AppError } from '../contract/errors.ts'
import type { EventOf, GenerationEvent } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { OutputCheck } from './checks/check-output.ts'
import { again, sum } from './required-calls.ts'
import { finishOfCancelled } from './run-observer.ts'

type Checked = {
  readonly check: OutputCheck
  /** Creates the check of the second attempt. */
  createCheck(): Promise<OutputCheck | undefined>
  attempt(request: GenerationRequest, emit: Emit<GenerationEvent>, check: OutputCheck | undefined): Promise<void>
  readonly signal: AbortSignal
  readonly emit: Emit<GenerationEvent>
}

/** Runs a request whose client gets the reply only when it is complete: an output that breaks its constraint is generated once more. */
export async function runCheckedWhole(request: GenerationRequest, given: Checked): Promise<void> {
  const { check, createCheck, attempt, signal, emit } = given
  const held: GenerationEvent[] = []
  const invalid = new Set<number>()
  const noting: OutputCheck = {
    ...check,
    // Does not fail the run yet: its cost is known at the end.
    validate: (choice, truncated) =>
      check.validate(choice, truncated).catch((error: unknown) => {
        if (AppError.from(error).code !== 'invalid-output') throw error
        invalid.add(choice)
      }),
  }
  try {
    await attempt(request, (event) => void held.push(event), noting)
  } catch (error) {
    // A choice that breaks its constraint is kept, too, but without its finish.
    const kept = held.filter((event) => event.type !== 'finish' || !invalid.has(event.choice))
    if (finishOfCancelled(signal) !== undefined) await inTurn(kept, emit)
    throw error
  }
  if (invalid.size === 0) return inTurn(held, emit)
  const first = held.find((event): event is EventOf<'usage'> => event.type === 'usage')
  const second = await createCheck()
  await attempt(again(request, request.choices), (event) => emit(event.type === 'usage' ? sum(first, event) : event), second)
}
