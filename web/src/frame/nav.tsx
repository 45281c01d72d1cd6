import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { keptHere } from '../api/browser-kept.ts'
import { allows, apiKey, asksForKey, useKey } from '../api/session.ts'
import { frameTexts } from '../texts/frame.ts'
import { useBack } from '../ui/back.ts'
import { icons } from '../ui/icons.tsx'
import { showsKeys } from './keys-help.tsx'
import { type Page, places } from './places.ts'
import { linkTo } from './router.ts'
import { nextTheme, theme } from './theme.ts'

const name = 'dragoman.narrow'
export const isNarrow = signal(keptHere.get(name) === 'yes')

function toggleNarrow(): void {
  isNarrow.value = !isNarrow.value
  keptHere.set(name, isNarrow.value ? 'yes' : 'no')
}

/** The column of places; below 720 px, a bar at the bottom. */
export function Nav({ current }: { readonly current: Page | undefined }) {
  const [showsMore, setShowsMore] = useState(false)
  useBack(showsMore, () => setShowsMore(false))
  const ThemeIcon = icons[theme.value]
  const NarrowIcon = isNarrow.value ? icons.wide : icons.narrow
  const tool = (label: string, Icon: typeof ThemeIcon, act: () => void) => (
    <button type="button" class="nav-item" title={label} onClick={act}>
      <Icon />
      <span class="nav-word">{label}</span>
    </button>
  )
  return (
    <nav class="nav" aria-label={frameTexts.places} data-more={showsMore ? '' : undefined}>
      <div class="nav-name">
        <Mark />
        <span class="nav-word">{frameTexts.name}</span>
      </div>
      <ul>
        {places
          .filter(({ scope }) => allows(scope))
          .map(({ id, title, icon }) => {
            const Shape = icons[icon]
            return (
              <li key={id}>
                <a class="nav-item" href={linkTo(id)} aria-current={id === current?.id ? 'page' : undefined} title={title}>
                  <Shape />
                  <span class="nav-word">{title}</span>
                </a>
              </li>
            )
          })}
        <li class="nav-more">
          <button type="button" class="nav-item" aria-expanded={showsMore} onClick={() => setShowsMore(!showsMore)}>
            <icons.more />
            <span class="nav-word">{frameTexts.more}</span>
          </button>
        </li>
      </ul>
      <div class="nav-tools">
        <a class="nav-item" href="docs" title={frameTexts.api}>
          <icons.code />
          <span class="nav-word">{frameTexts.api}</span>
        </a>
        {apiKey.value !== undefined && tool(frameTexts.signIn.leave, icons.person, signOut)}
        {tool(frameTexts.keys, icons.help, () => {
          showsKeys.value = true
        })}
        {tool(frameTexts.theme[theme.value], ThemeIcon, nextTheme)}
        <div class="nav-width">{tool(isNarrow.value ? frameTexts.wide : frameTexts.narrow, NarrowIcon, toggleNarrow)}</div>
      </div>
    </nav>
  )
}

function signOut(): void {
  useKey(undefined)
  asksForKey.value = ''
}

/** Two speech marks that face each other: one language becomes another. */
function Mark() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" fill="none" stroke="var(--accent)" stroke-width="2">
      <path d="M8.5 3.5H3v9h2v3l3.5-3M11.5 7.5H17v7h-2v2.5L11.5 14.5z" stroke-linejoin="round" stroke-linecap="round" />
    </svg>
  )
}
