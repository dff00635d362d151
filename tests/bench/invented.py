"""Words and sentences of records that nobody wrote: invented persons, places and events for the benchmarks."""

import calendar

GIVEN = [
    "Mara", "Teo", "Ilse", "Anton", "Priya", "Gideon", "Nadia", "Rufus", "Selma", "Ivo", "Clara", "Dashiell", "Yusuf",
    "Petra", "Lionel", "Vera", "Bram", "Odette", "Hugo", "Tamsin", "Elias", "Runa", "Casper", "Lucia", "Milo", "Ingrid",
    "Jonah", "Freya", "Amos", "Della",
]  # fmt: skip
"""No two begin with the same two letters and stand for one person: initials alone may be shared."""

SURNAMES = [
    "Velldon", "Harrowick", "Tesmer", "Okonjo", "Brandlow", "Quillfer", "Stavens", "Mirecki", "Dunlaith", "Pargeter",
    "Olvarez", "Whitcombe", "Zelinka", "Farrowby", "Kesteven", "Lindqvarn", "Ambrose", "Castellan", "Duvermont",
    "Ekholm", "Fenwright", "Gallibrand", "Hesketh", "Iversley", "Jurado", "Kowarik", "Lathrop", "Marchetti", "Nordvik",
    "Ostrander", "Pellgrave", "Quaresmo", "Rasdale", "Sorvino", "Thackeray", "Umberleigh", "Vantongeren", "Wexcombe",
    "Yarrowell", "Zamfir", "Ardizzone", "Bellwether", "Corvane", "Dravitt", "Eastlake", "Fontrevau", "Grindal",
    "Holloweth", "Inskip", "Jessamy", "Kirrane", "Lomborg", "Mardell", "Nettleship", "Orsova", "Prendick", "Rookwith",
    "Sandoval-Reyk", "Tolliver", "Ulvestad", "Vickernoe", "Wansbrow", "Yelverton", "Zubrick", "Aldermoor", "Bickerstaw",
    "Crosthway", "Dellacour", "Etherege", "Foxglade", "Garrideb", "Huxtell", "Ivanhold", "Jorvik", "Kellaway", "Lanyon",
    "Merriwell", "Norcastle", "Overbeck", "Penhallow", "Ravensdal", "Silvercot", "Trevanion", "Uppingdale", "Vossberg",
    "Wetherlam", "Yorath", "Zennor", "Ashgrove", "Birkmyre", "Coldwater", "Dunsinan", "Elphinst", "Fairbairk",
    "Glencoyne", "Hathersage", "Ingleborr", "Jarnwith", "Kilmarten", "Loxwood",
]  # fmt: skip

RANKS = (("Officer", "Ofc."), ("Sergeant", "Sgt."), ("Detective", "Det."), ("Corporal", "Cpl."), ("Lieutenant", "Lt."))
DIVISIONS = ("Northgate", "Harbor", "Elm Park", "Mill District", "Transit", "Traffic", "Narcotics", "West Basin")
STREETS = [
    "Larch Street", "Canal Road", "Mercer Avenue", "Quarry Lane", "Foundry Street", "Orchard Row", "Bishop Street",
    "Delta Avenue", "Kiln Road", "Lantern Street", "Market Square", "Nettle Lane", "Old Ferry Road", "Poplar Avenue",
    "Ridge Street", "Saddler Row",
]  # fmt: skip
MONTHS = list(calendar.month_name)[1:]
CIVILIANS = [
    "a delivery driver", "a night clerk", "a high-school student", "a bus passenger", "a street vendor", "a tenant",
    "a cyclist", "a nurse on her way home", "a mechanic", "two brothers", "a shop owner", "a man waiting for a train",
]  # fmt: skip

OPENINGS = (
    "On {date} this office received a complaint about a stop on {street}.",
    "Complaint {number} concerns events on {street} during the evening of {date}.",
    "{date}. {civilian_up} reported the following to the intake desk.",
    "The file was opened on {date} after {civilian} called from {street}.",
    "Summary of the interview held on {date} about the incident on {street}.",
    "A supervisor's log for {date} refers to a disturbance near {street}.",
)
ACTS = (
    "{who} struck {civilian} in the ribs after the handcuffs were on",
    "{who} searched a locked trunk without consent or a warrant",
    "{who} switched off the body camera for eleven minutes",
    "{who} wrote in the report that a witness had left, which the video contradicts",
    "{who} kept a seized phone in a private locker for three weeks",
    "{who} called {civilian} a liar and refused to take the statement",
    "{who} used a computer terminal to look up a former partner",
    "{who} left the prisoner alone in the van for two hours",
    "{who} fired a taser at {civilian}, who was already sitting down",
    "{who} drove against a red light without siren and hit a parked car",
    "{who} accepted free meals from the owner of the restaurant",
    "{who} told {civilian} to delete the recording",
)
LINKS = (
    "According to the video, {act}.",
    "{act_up}.",
    "The complainant states that {act}.",
    "Two witnesses agree that {act}.",
    "It is further alleged that {act}.",
    "The duty roster and the radio log confirm that {act}.",
)
CLOSINGS = (
    "The matter was referred for review.",
    "A copy of this summary goes to the review board.",
    "The complainant asked to be told of the outcome.",
    "No further statement was taken that day.",
    "Photographs are attached to the file.",
    "The recording was saved under the case number.",
)

FORCE = (
    "{who} pushed {civilian} against a wall and then took him down with a leg sweep; he needed four stitches",
    "when {civilian} pulled an arm away, {who} delivered two blows with the baton to the thigh",
    "{who} deployed pepper spray at close range into the face of {civilian}",
    "{who} fired the taser once and {civilian} fell onto the pavement",
    "the dog handled by {who} bit {civilian} on the forearm before it was called off",
    "{who} held {civilian} by the throat for several seconds, as the station camera shows",
    "{who} knelt on the back of {civilian} until a colleague pulled at his sleeve",
    "{who} threw {civilian} to the ground while he was still holding his groceries",
    "{who} bent the wrist of {civilian} until it cracked, saying this would teach him",
    "{who} hit {civilian} with the flashlight, and the radio log notes a request for an ambulance",
)
NO_FORCE = (
    "{who} attended the annual course on the use of force and passed the written test",
    "{who} broke the lock of the rear door with a ram, but the flat was empty",
    "{who} wrote a parking ticket although {civilian} was still loading the car",
    "{who} spoke rudely to {civilian} and would not give a badge number",
    "{civilian} punched {who} in the chin and ran off; nobody was touched in return and he was not caught",
    "a private security guard wrestled {civilian} to the floor before {who} arrived and took the names",
    "{who} tested the taser in the locker room as prescribed, and it was put back into the cabinet",
    "{who} lost the envelope with the property of {civilian}, and the loss was not reported for nine days",
    "{civilian} withdrew the claim that {who} had hit him: the video shows that they never stood close to each other",
    "{who} searched the apartment on a warrant that named another floor; {civilian} waited outside and was left alone",
    "a tree that the storm brought down injured {civilian}, and {who} called the ambulance",
    "{who} followed the stolen car at high speed and let it go when it entered the school zone",
)

FILLER = (
    "The interview with the {role} took place in room {n} and was recorded from beginning to end.",
    "Asked about the weather, the {role} recalled light rain and a wet road surface near {street}.",
    "The {role} had worked {n} night shifts in the month before and described the mood in the unit as tense.",
    "Investigators walked the distance between the two corners of {street} and measured {n} meters.",
    "The dispatch recording contains {n} seconds of silence, which the technician explains by a change of channel.",
    "A neighbor on {street} gave the investigators a doorbell recording without sound.",
    "The first draft of the report was returned because the list of attachments was incomplete.",
    "The {role} could not say whether the rear window of the car had been open.",
    "Policy requires that a supervisor be told before the end of the shift; the log shows a call after {n} minutes.",
    "The photographs taken at the scene show {n} markers, of which two could not be matched with the sketch.",
    "Counsel for the {role} was present and objected to questions about earlier complaints.",
    "The {role} repeated the account given in the first statement, with small differences in the order of events.",
    "A request for the recordings of the bus company was answered after {n} days.",
    "The vehicle's position data place it on {street} for about {n} minutes, which agrees with the radio log.",
    "The training record of the {role} shows a refresher course {n} months before the incident.",
    "The {role} said that the street lamps on {street} had been out of order for some time.",
    "No fingerprints of use were found on the door, and the laboratory returned the samples after {n} weeks.",
    "The {role} drew a sketch of the crossing, which is kept with the other papers as attachment {n}.",
    "Two further residents of {street} were visited but had heard nothing out of the ordinary.",
    "The {role} apologized for the late reply and explained it with a family matter.",
    "The second interview was cut short after {n} minutes because the recording device ran out of storage.",
    "According to the roster, {n} people were on duty, three of them on loan from another division.",
    "The {role} described the tone of the conversation as loud but not hostile.",
    "The written order of the day does not mention {street}; the {role} thought that it had been passed on by word.",
    "The chain of custody form was signed {n} times and shows no gap.",
)
ROLES = [
    "dispatcher", "shift supervisor", "tow-truck driver", "evidence clerk", "first witness", "second witness",
    "union representative", "building manager", "paramedic", "training officer", "records clerk", "neighbor",
]  # fmt: skip

LOGS = (
    "Unit {n} checked an open door on {house} {street}, all in order",
    "Unit {n} took a report of a stolen bicycle from {house} {street}",
    "Unit {n} assisted with a stalled truck near {house} {street}",
    "noise complaint on {house} {street}, music turned down on request",
    "Unit {n} gave directions to a lost hiker at {house} {street}",
    "Unit {n} stood by for the fire brigade at {house} {street}, burnt toast",
    "barking dog on {house} {street}, owner spoken to by Unit {n}",
    "Unit {n} followed up on a minor collision in front of {house} {street}",
    "welfare check by Unit {n} on {house} {street}, resident well",
    "Unit {n} returned a found wallet to its owner on {house} {street}",
)
WEAPONS = (
    "Unit {n} recovered a loaded pistol from a stairwell at {house} {street}",
    "a hunting knife was taken from a man at {house} {street} by Unit {n}",
    "Unit {n} seized a sawn-off shotgun at {house} {street}",
    "resident of {house} {street} handed Unit {n} a revolver found in the attic",
    "Unit {n} found a machete under a car seat at {house} {street}",
)
