import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { lost, tryNow } from '../api/connection.ts'
import { allows, asksForKey, caller } from '../api/session.ts'
import { frameTexts } from '../texts/frame.ts'
import { Button } from '../ui/button.tsx'
import { PlaceHead } from '../ui/place-head.tsx'
import { Said } from '../ui/said.tsx'
import { Empty, Failure, Waiting } from '../ui/states.tsx'
import { KeysHelp, showsKeys } from './keys-help.tsx'
import { isNarrow, Nav } from './nav.tsx'
import { type Page, places } from './places.ts'
import { address, go, linkTo } from './router.ts'
import { focusFilter, useShortcuts } from './shortcuts.ts'
import { SignIn } from './sign-in.tsx'

/** The whole page. */
export function Frame() {
  useShortcuts({
    '/': focusFilter,
    '?': () => {
      showsKeys.value = true
    },
    n: () => go(linkTo('chat')),
  })
  const place = places.find(({ id }) => id === (address.value.place || 'chat'))
  return (
    <div class="frame" data-narrow={isNarrow.value ? '' : undefined}>
      <button type="button" class="skip" onClick={() => document.getElementById('place')?.focus()}>
        {frameTexts.skip}
      </button>
      <Lost />
      <Nav current={place} />
      <main class="place" id="place" tabIndex={-1}>
        {place === undefined ? <NoPlace /> : <PlaceRoom key={place.id} place={place} />}
      </main>
      <KeysHelp />
      <SignIn />
      <Said />
    </div>
  )
}

/** The code of opened places, or why it could not be fetched. */
const rooms = signal<Readonly<Record<string, ComponentType | Error>>>({})

function fetchRoom({ id, load }: Page): void {
  const keep = (room: ComponentType | Error) => {
    rooms.value = { ...rooms.value, [id]: room }
  }
  load().then(keep, (error: Error) => keep(error))
}

function PlaceRoom({ place }: { readonly place: Page }) {
  const Room = rooms.value[place.id]
  const [thrown, forget] = useErrorBoundary()
  if (!allows(place.scope)) {
    const another = () => {
      asksForKey.value = ''
    }
    return (
      <>
        <PlaceHead title={place.title} />
        <div class="place-body">
          <Failure error={frameTexts.noScope(place.scope)} onRetry={another} action={frameTexts.signIn.another} />
        </div>
      </>
    )
  }
  if (Room === undefined) fetchRoom(place)
  if (thrown !== undefined || Room instanceof Error) {
    const again = () => {
      forget()
      if (Room instanceof Error) fetchRoom(place)
    }
    return (
      <>
        <PlaceHead title={place.title} />
        <div class="place-body">
          <Failure error={thrown ?? Room} onRetry={again} />
        </div>
      </>
    )
  }
  // Until the caller is known, there is nothing to fetch.
  if (Room === undefined || (caller.value === undefined && asksForKey.value !== undefined)) {
    return (
      <>
        <PlaceHead title={place.title} />
        <Waiting what="" />
      </>
    )
  }
  return <Room />
}

function Lost() {
  if (lost.value === undefined) return null
  return (
    <div class="notice" role="status">
      <span>{frameTexts.lost(lost.value.seconds)}</span>
      <Button onClick={tryNow}>{frameTexts.tryNow}</Button>
    </div>
  )
}

function NoPlace() {
  return (
    <>
      <PlaceHead title={frameTexts.name} />
      <Empty title={frameTexts.noPlace(address.value.place)}>
        <p>
          <a href={linkTo('chat')}>{frameTexts.toChat}</a>
        </p>
      </Empty>
    </>
  )
}
