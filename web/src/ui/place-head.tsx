import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { address, setQuery } from '../frame/router.ts'
import { frameTexts } from '../texts/frame.ts'
import { plainName } from './names.ts'

type PlaceHeadProps = {
  readonly title: string
  /** What matters now, in the title of the tab: "3 running". */
  readonly matters?: string
  /** The name of the filter field; absent: no filter. Its value is `filter` in the address. */
  readonly filter?: string
  /** Before the title. */
  readonly before?: ComponentChildren
  /** The primary action. */
  readonly children?: ComponentChildren
}

/** The first line of each place: its name, one filter, one action. */
export function PlaceHead({ title: given, matters, filter, before, children }: PlaceHeadProps) {
  const title = plainName(given)
  useEffect(() => {
    document.title = [matters, title, frameTexts.name].filter((part) => part !== undefined && part !== '').join(' · ')
  }, [title, matters])
  return (
    <header class="place-head">
      {before}
      <h1 class="clip">{title}</h1>
      {filter !== undefined && (
        <input
          type="search"
          class="field filter"
          data-filter
          aria-label={filter}
          placeholder={filter}
          value={address.value.query.filter ?? ''}
          onInput={(event) => setQuery({ filter: event.currentTarget.value })}
        />
      )}
      <span class="space" />
      {children}
    </header>
  )
}
